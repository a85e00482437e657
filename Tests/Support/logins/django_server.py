"""django-oauth-toolkit with logins: code with PKCE and OpenID, and devices, whose endpoint its metadata does not name.

    django_server.py FOLDER

Prints one line of JSON (see `facts`), and ends with its standard input. /api requires a token. Tokens last 3 seconds."""

import json
import os
import socketserver
import sys
import threading
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

PAGE = "<title>Log in</title><form method=post>{% csrf_token %}{{ form.as_p }}<button>Log in</button></form>"


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


server = Server(("127.0.0.1", 0), Handler)
base = f"http://127.0.0.1:{server.server_port}"
key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())

settings.configure(
    SECRET_KEY="django-key",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(sys.argv[1], "db"), "OPTIONS": {"timeout": 20}
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {
            "context_processors": ["django.template.context_processors.request"],
            "loaders": [
                ("django.template.loaders.locmem.Loader", {"registration/login.html": PAGE}),
                "django.template.loaders.app_directories.Loader",
            ],
        },
    }],
    LOGIN_URL="/login/",
    OAUTH2_PROVIDER={
        "SCOPES": {"openid": "who you are", "read": "read"},
        "ACCESS_TOKEN_EXPIRE_SECONDS": 3,
        "ROTATE_REFRESH_TOKEN": True,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0,
        "OIDC_ENABLED": True,
        "OIDC_RSA_PRIVATE_KEY": key.decode(),
        "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
        "OAUTH_DEVICE_VERIFICATION_URI": base + "/o/device/",
        "DEVICE_FLOW_INTERVAL": 1,
    },
)
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.contrib.auth.views import LoginView  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from oauth2_provider import urls  # noqa: E402
from oauth2_provider.models import Application  # noqa: E402
from oauth2_provider.oauth2_backends import get_oauthlib_core  # noqa: E402


@csrf_exempt
def api(request):
    valid, _ = get_oauthlib_core().verify_request(request, scopes=["read"])
    if valid:
        return HttpResponse("ok\n")
    return HttpResponse("no\n", status=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})


urlpatterns = [
    path("o/", include("oauth2_provider.urls")),
    path("", include((urls.metadata_urlpatterns, "metadata"))),
    path("login/", LoginView.as_view()),
    path("api", api),
]


def main():
    call_command("migrate", verbosity=0)
    user = User.objects.create_user("ann", password="pw-5ecret-of-ann")
    browser = Application.objects.create(
        name="browser", user=user, client_type=Application.CLIENT_PUBLIC, algorithm=Application.RS256_ALGORITHM,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE, redirect_uris="http://127.0.0.1/callback")
    device = Application.objects.create(
        name="device", user=user, client_type=Application.CLIENT_PUBLIC, algorithm=Application.RS256_ALGORITHM,
        authorization_grant_type=Application.GRANT_DEVICE_CODE)
    server.set_app(get_wsgi_application())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    fields = {"username": "ann", "password": "pw-5ecret-of-ann"}
    facts = {
        "base": base, "issuer": base + "/o", "api": "/api", "client_id": browser.client_id, "device_client_id": device.client_id,
        "fields": {**fields, "allow": "Authorize"}, "device_fields": {**fields, "action": "accept"},
    }
    print(json.dumps(facts), flush=True)
    sys.stdin.read()


main()
