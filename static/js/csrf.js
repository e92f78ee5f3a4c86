// The token against forged requests. Signing in changes it, so it is read from the cookie every time, and not from a
// form: a page that was open before goes on working after its reader signed in anew in another tab.

export function csrfToken() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";
}
