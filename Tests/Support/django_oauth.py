"""Another project's OAuth server, django-oauth-toolkit, with rotation and reuse protection, and an API that it protects.

    django_oauth.py FOLDER

Prints one line of JSON: port, client_id, client_secret, refresh_token. POST /o/token/ is the token endpoint, /api requires one of its
tokens, /revoke revokes all access tokens, /tokens returns the number of refresh tokens, of used ones, and of token requests and refused ones. Ends with its standard input.
"""

import json
import os
import socketserver
import sys
import threading
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings

FOLDER = sys.argv[1]
SECRET = "client-5ecret-of-django"

settings.configure(
    SECRET_KEY="django-key",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DATABASES={
        "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(FOLDER, "db"), "OPTIONS": {"timeout": 20}}
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
    OAUTH2_PROVIDER={
        "SCOPES": {"read": "read"},
        "ACCESS_TOKEN_EXPIRE_SECONDS": 3,
        "ROTATE_REFRESH_TOKEN": True,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0,
    },
)
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse, JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402
from django.utils import timezone  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from oauth2_provider.models import AccessToken, Application, RefreshToken  # noqa: E402
from oauth2_provider.oauth2_backends import get_oauthlib_core  # noqa: E402
from oauth2_provider.views import TokenView  # noqa: E402


asked = []
issue = TokenView.as_view()


@csrf_exempt
def token(request):
    answer = issue(request)
    asked.append(answer.status_code)
    return answer


@csrf_exempt
def api(request):
    valid, _ = get_oauthlib_core().verify_request(request, scopes=["read"])
    if valid:
        return HttpResponse("ok\n")
    return HttpResponse("no\n", status=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})


def revoke(request):
    AccessToken.objects.update(expires=timezone.now() - timezone.timedelta(days=1))
    return HttpResponse()


def tokens(request):
    spent = RefreshToken.objects.exclude(revoked=None).count()
    refused = sum(status != 200 for status in asked)
    return JsonResponse({"all": RefreshToken.objects.count(), "spent": spent, "asked": len(asked), "refused": refused})


urlpatterns = [path("o/token/", token), path("api", api), path("revoke", revoke), path("tokens", tokens)]


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def main():
    call_command("migrate", verbosity=0)
    user = User.objects.create_user("svc", password="pw-5ecret-of-django")
    application = Application.objects.create(
        name="proxy", user=user, client_type=Application.CLIENT_CONFIDENTIAL, client_secret=SECRET,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE)
    service = Application.objects.create(
        name="service", user=user, client_type=Application.CLIENT_CONFIDENTIAL, client_secret=SECRET,
        authorization_grant_type=Application.GRANT_CLIENT_CREDENTIALS)
    access = AccessToken.objects.create(
        user=user, application=application, token="first-5ecret-access", scope="read", expires=timezone.now())
    RefreshToken.objects.create(
        user=user, application=application, token="first-5ecret-refresh", access_token=access, token_family="2f0b8f0e-0b5c-4e0e-9e0a-000000000001")
    server = make_server("127.0.0.1", 0, get_wsgi_application(), server_class=Server, handler_class=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(
        json.dumps({
            "port": server.server_port, "client_id": application.client_id, "service_id": service.client_id,
            "client_secret": SECRET, "refresh_token": "first-5ecret-refresh",
        }),
        flush=True)
    sys.stdin.read()


main()
