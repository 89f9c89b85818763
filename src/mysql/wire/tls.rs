//! TLS towards a source, by the endpoint's own certificates.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::model::Tls;

/// Secures a stream. The error is why not, in words.
pub async fn secure<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    host: &str,
    given: &Tls,
) -> Result<TlsStream<S>, String> {
    let name = ServerName::try_from(host.to_owned()).map_err(|error| format!("the host's name {host}: {error}"))?;
    let connector = TlsConnector::from(Arc::new(configuration(given)?));
    connector.connect(name, stream).await.map_err(|error| error.to_string())
}

/// The given authority, or else the world's.
fn configuration(given: &Tls) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if given.ca.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for certificate in CertificateDer::pem_slice_iter(given.ca.as_bytes()) {
        let certificate = certificate.map_err(|error| format!("the authority's certificate: {error}"))?;
        roots.add(certificate).map_err(|error| format!("the authority's certificate: {error}"))?;
    }
    let builder = ClientConfig::builder().with_root_certificates(roots);
    if given.certificate.is_empty() {
        return Ok(builder.with_no_client_auth());
    }
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(given.certificate.as_bytes()).collect();
    let chain = chain.map_err(|error| format!("our certificate: {error}"))?;
    let key = PrivateKeyDer::from_pem_slice(given.key.expose_secret().as_bytes());
    let key = key.map_err(|error| format!("our certificate's key: {error}"))?;
    builder.with_client_auth_cert(chain, key).map_err(|error| format!("our certificate: {error}"))
}
