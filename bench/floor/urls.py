"""The same two addresses as the project's own."""

from django.urls import path

from bench.floor import views

urlpatterns = [
    path("api/v1/assignments/next/", views.next_item),
    path("api/v1/assignments/<int:lease>/response/", views.submit),
]
