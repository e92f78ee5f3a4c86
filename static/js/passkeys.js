// Passkeys: what the browser does between two forms. The server says what it needs, its answer is JSON for a form.

export const supported = typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === "function";

/**
 * Sign in with a passkey; rejects when the reader cancels.
 * @param {PublicKeyCredentialRequestOptionsJSON} options
 */
export async function sign(options) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return JSON.stringify(await navigator.credentials.get({ publicKey }));
}

/**
 * Make a passkey; rejects when the reader cancels.
 * @param {PublicKeyCredentialCreationOptionsJSON} options
 */
export async function make(options) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return JSON.stringify(await navigator.credentials.create({ publicKey }));
}
