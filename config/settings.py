"""Django settings. The contest's numbers are not here: they are the recorded policy (policy.numbers)."""

import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from common.web.body_limits import DEFAULT_BYTES, MAX_FIELDS
from config import env
from config.logs import configure_logs
from contest.core.enums import CaseState, DefenseStanding
from labeling.enums import Answer

BASE_DIR = Path(__file__).resolve().parent.parent
DEMO = env.boolean("DEMO", False)
DATA_DIR = Path(env.read.str("DATA_DIR", default=str(BASE_DIR / "var"))).resolve()
SECRET_KEY = env.secret_key(DEMO, DATA_DIR)
SECRET_KEY_FALLBACKS = env.read.list("SECRET_KEY_FALLBACKS", default=[])
DEBUG = False

# Where `serve` listens on this machine.
PORT = env.port("PORT", 8000)
PUBLIC_URL = env.url("PUBLIC_URL", f"http://localhost:{PORT}", ("http", "https"))
HTTPS = PUBLIC_URL.startswith("https://")
ALLOWED_HOSTS = [urlparse(PUBLIC_URL).hostname or "", "127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",
    "django_filters",
    "rest_framework",
    "drf_spectacular",
    "allauth.account",
    "allauth.mfa",
    "axes",
    "csp",
    "django_structlog",
    "common",
    "policy",
    "accounts",
    "labeling",
    "monitoring",
    "adjudication",
    "scoring",
    "contest.core",
    "contest.outbox",
    "contest.teams",
    "contest.ledger",
    "contest.defenses",
    "contest.attacks",
    "contest.prizes",
    "contest.board",
    "contest.releases",
    "contest.record",
    "contest",
]
MIDDLEWARE = [
    "common.web.head_requests.NoBodyForHead",
    "common.domain_clock.one_time_middleware",
    "common.database.request_memory.request_memory_middleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "common.web.body_limits.BodyLimits",
    "django.middleware.csrf.CsrfViewMiddleware",
    "accounts.session_store.SignedInUserMiddleware",
    "accounts.locale.PersonMiddleware",
    "common.web.request_log.RequestLog",
    "common.audit.origin.OriginMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "common.web.content_security_policy.CSPMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
    "config.pages.DomainErrorPages",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
FORM_RENDERER = "common.web.forms.FormRenderer"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "django.template.context_processors.tz",
                "config.context.site",
            ],
        },
    }
]

DATABASES: dict[str, Any] = {"default": env.database("DATABASE_URL", f"sqlite:///{DATA_DIR / 'db.sqlite3'}")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Measured: with deferred transactions half of the concurrent writers fail with "database is locked".
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;",
    }
else:
    # Connections are kept; the engine looks at each, which costs no round trip, before a request uses it.
    DATABASES["default"]["ENGINE"] = "common.postgresql"
    DATABASES["default"]["CONN_MAX_AGE"] = None
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # Seconds until a silent server counts as away, and milliseconds for a statement.
    patience = {"connect_timeout": 5, "keepalives_idle": 30, "keepalives_interval": 10, "tcp_user_timeout": 30_000}
    DATABASES["default"]["OPTIONS"] = patience | DATABASES["default"].get("OPTIONS", {})
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

IMAGE_STORE_URL = env.url("IMAGE_STORE_URL", f"file://{DATA_DIR / 'pictures'}", ("file", "s3"))
S3_ENDPOINT_URL = env.url("S3_ENDPOINT_URL", "", ("http", "https"))
ARRAY_CACHE_DIR = DATA_DIR / "arrays"
RELEASE_DIR = Path(env.read.str("RELEASE_DIR", default=str(DATA_DIR / "releases"))).resolve()
# The key that signs releases. Only the process that publishes them reads it.
RELEASE_KEY_FILE = Path(env.read.str("RELEASE_KEY_FILE", default=str(DATA_DIR / "release-key"))).resolve()
SCORING_DEVICE = env.choice("SCORING_DEVICE", "auto", ("auto", "cpu", "cuda"))
DEFENSE_RUNTIME = env.choice("DEFENSE_RUNTIME", "docker", ("docker", "process"))
# The container runtime: the engine's own, or gVisor's.
CONTAINER_RUNTIME = env.choice("CONTAINER_RUNTIME", "runc", ("runc", "runsc"))
# Registries from which scorers fetch images that a team names by digest; a stranger must not name an internal host.
DEFENSE_REGISTRIES = env.read.list("DEFENSE_REGISTRIES", default=["docker.io", "ghcr.io", "quay.io"])
SCORER_DIR = Path(env.read.str("SCORER_DIR", default=str(DATA_DIR / "scorer"))).resolve()
METRICS_TOKEN = env.read.str("METRICS_TOKEN", default="")

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "accounts.session_store.UserBackend"]
# Second factors and addresses are kept by django-allauth; its pages and its sign-in are not used (decision 29).
ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS = 3
MFA_ADAPTER = "accounts.mfa_adapter.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_ISSUER = "Unanimous"
MFA_WEBAUTHN_USER_VERIFICATION = "required"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("username", "email")},
    },
]
PASSWORD_RESET_TIMEOUT = 24 * 3600
# Relations that are read together with the signed-in user, in one query per request.
SIGNED_IN_RELATED = ("tasker",)
# Names the role of an account in a word, for the audit trail.
AUDIT_ROLE_OF = "accounts.roles.audit_role_of"
AXES_FAILURE_LIMIT = "accounts.rate_limits.allowed_tries"
AXES_COOLOFF_TIME = 1
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "accounts.pages.sign_in_views.locked_out"
# The hour begins with the wrong password that closed the account; trying on does not make it longer.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_VERBOSE = False
AXES_HANDLER = "accounts.rate_limits.SignInGuard"
AXES_CLIENT_STR_CALLABLE = "accounts.rate_limits.logged_client"
# Masked where a wrong try is recorded, as the password is.
AXES_SENSITIVE_PARAMETERS = ["username", "email", "ip_address", "otp", "proof", "passkey", "code"]
AXES_SENSITIVE_PARAMETERS += ["new_password", "credential", "csrfmiddlewaretoken"]
# Behind a proxy every request has the proxy's address: one stranger could close anybody's account for everybody.
TRUSTED_PROXIES = env.whole_number("TRUSTED_PROXIES")
AXES_CLIENT_IP_CALLABLE = "accounts.rate_limits.counted_address"
EMAIL = env.email("EMAIL_URL", f"file://{DATA_DIR / 'mail'}" if DEMO else "console://")
EMAIL_BACKEND = EMAIL["EMAIL_BACKEND"]
EMAIL_FILE_PATH = EMAIL.get("EMAIL_FILE_PATH")
EMAIL_HOST, EMAIL_PORT = EMAIL.get("EMAIL_HOST", ""), EMAIL.get("EMAIL_PORT", 0)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = EMAIL.get("EMAIL_HOST_USER", ""), EMAIL.get("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_SSL, EMAIL_USE_TLS = EMAIL.get("EMAIL_USE_SSL", False), EMAIL.get("EMAIL_USE_TLS", False)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.read.str("EMAIL_FROM", default=f"Unanimous <no-reply@{urlparse(PUBLIC_URL).hostname}>")
# Where people reach the organizers; pages that say "write to an organizer" show it.
CONTACT_EMAIL = env.email_address("CONTACT_EMAIL")
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
SESSION_ENGINE = "accounts.session_store"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
# Probes and Prometheus ask the process itself, without the proxy that ends TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.tokens.SessionAuthentication",
        "config.audience.AudienceTokenAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["common.web.json_parser.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "config.errors.api_exception",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Unanimous",
    "DESCRIPTION": "Is this an unambiguous picture of a bird or of a bicycle? The contest's programming interface.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SORT_OPERATIONS": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "config.schema.with_common_refusals",
    ],
    "ENUM_NAME_OVERRIDES": {
        "AnswerEnum": [answer.value for answer in Answer],
        "CaseStateEnum": [state.value for state in CaseState],
        "DefenseStandingEnum": [standing.value for standing in DefenseStanding],
    },
}

CELERY_BROKER_URL = env.url("CELERY_BROKER_URL", "", ("redis", "rediss"))

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "config.formats"
STATIC_URL = "/static/"
WHITENOISE_ALLOW_ALL_ORIGINS = False  # only our own pages use the files
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.static.StaticStorage"},
}
# The fields of a form beside its files. How long a whole body may be is said by each view (common.web.body_limits).
DATA_UPLOAD_MAX_MEMORY_SIZE = DEFAULT_BYTES
DATA_UPLOAD_MAX_NUMBER_FIELDS = MAX_FIELDS
DATA_UPLOAD_MAX_NUMBER_FILES = 100

LOG_FORMAT = env.choice("LOG_FORMAT", "json", ("json", "console"))
LOGGING_CONFIG = None
# Naming the user in each line would cost every picture and every sign of life a query.
DJANGO_STRUCTLOG_USER_ID_FIELD = ""
# Log only the end of a stream.
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = logging.DEBUG
LOGGING = configure_logs(LOG_FORMAT)

if HTTPS and DEMO:
    raise ImproperlyConfigured("DEMO=1 has published passwords: it is refused together with an https PUBLIC_URL")
