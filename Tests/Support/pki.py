"""Makes a certificate authority and the certificates of the tests' origins in the folder named on the command line.

Names: ca.pem; good (localhost, *.example.test, 127.0.0.1, ::1), endless (the same until 9999, RFC 5280 section 4.1.2.5), wrong-host
(other.example), expired, self-signed; each NAME.pem with its NAME.key. `good.pem` has only the leaf, as the CA is its direct issuer.
"""

import datetime
import ipaddress
import pathlib
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.timezone.utc)


def name(common_name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def write(folder, stem, certificate, key):
    (folder / f"{stem}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / f"{stem}.key").write_bytes(pem)


def authority(common_name):
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name(common_name))
        .issuer_name(name(common_name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - 30 * DAY)
        .not_valid_after(NOW + 365 * DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(True, False, False, False, False, True, True, False, False), critical=True
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate, key


def leaf(issuer, hosts, not_before=NOW - DAY, not_after=NOW + 90 * DAY):
    """`issuer` is (certificate, key), or None for a self-signed one."""
    key = ec.generate_private_key(ec.SECP256R1())
    alternatives = []
    for host in hosts:
        try:
            alternatives.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            alternatives.append(x509.DNSName(host))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name(hosts[0]))
        .issuer_name(issuer[0].subject if issuer else name(hosts[0]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(not_before)
        .not_valid_after(not_after)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    if issuer:
        certificate = certificate.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer[1].public_key()), critical=False
        )
    return certificate.sign(issuer[1] if issuer else key, hashes.SHA256()), key


def main():
    folder = pathlib.Path(sys.argv[1])
    hosts = ["localhost", "*.example.test", "127.0.0.1", "::1"]
    ca = authority("Tests CA")
    write(folder, "ca", *ca)
    write(folder, "good", *leaf(ca, hosts))
    write(folder, "endless", *leaf(ca, hosts, not_after=datetime.datetime(9999, 12, 31, 23, 59, 59)))
    write(folder, "wrong-host", *leaf(ca, ["other.example"]))
    write(folder, "expired", *leaf(ca, hosts, NOW - 20 * DAY, NOW - 10 * DAY))
    write(folder, "self-signed", *leaf(None, hosts))


main()
