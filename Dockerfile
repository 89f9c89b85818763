# The service in an image of its own. Built and run by docker-compose.yml beside it.
FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --profile dist --locked && cp target/dist/ferrymaster /ferrymaster

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl && rm -rf /var/lib/apt/lists/* \
    && useradd --system ferrymaster && install -d -o ferrymaster -m 0700 /data
COPY --from=build /ferrymaster /usr/local/bin/ferrymaster
USER ferrymaster
VOLUME /data
EXPOSE 8261
ENTRYPOINT ["ferrymaster"]
CMD ["serve", "--data-dir", "/data"]
