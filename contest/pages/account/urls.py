"""URLs of the message pages."""

from django.urls import URLPattern, path

from contest.pages.account import message_views

urlpatterns: list[URLPattern] = [
    path("messages/", message_views.message_list, name="messages"),
    path("messages/settings/", message_views.settings, name="message-settings"),
    path("messages/<int:number>/", message_views.message, name="message"),
]
