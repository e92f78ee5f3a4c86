// A page that answers a form. Going back to it, or loading it again, asks for the page of that address: the form is never
// sent a second time, and the browser need not ask whether it should be.
history.replaceState(history.state, "", location.href);
