"""The pages of messages."""

from django.urls import path

from contest.messages import outbox_views, views

urlpatterns = [
    path("messages/", views.message_list, name="messages"),
    path("messages/settings/", views.settings, name="message-settings"),
    path("messages/outbox/", outbox_views.letters, name="message-outbox"),
    path("messages/outbox/<str:name>/", outbox_views.letter, name="message-letter"),
    path("messages/outbox/<str:name>/html/", outbox_views.letter_html, name="message-letter-html"),
    path("messages/<int:number>/", views.message, name="message"),
]
