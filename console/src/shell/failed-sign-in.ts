/** Messages for failed sign-ins, keyed by the word that the service puts into the address. */
const FAILURES: Record<string, string> = {
  expired: 'The sign-in took too long, or was started in another window. Start it again.',
  denied: 'The sign-in was cancelled.',
  provider_unavailable: 'The sign-in provider cannot be reached now. Try it again in a minute.',
  not_valid: 'The answer of the sign-in provider is not valid, so you are not signed in.',
  domain: 'Your e-mail address is not verified, or its domain may not sign in here.',
  deactivated: 'You may not sign in any more. An admin can change that.',
  no_role: 'You have no role here yet. Ask an admin of your project to add you.',
  too_many: 'Too many people are signing in from your address. Try it again in a minute.',
  unavailable: 'The service cannot sign you in now. Try it again in a minute.',
};

/** Limits the reference that is shown: anybody can make a link to this page with any text. */
const REFERENCE = /^[\w.:/+=@-]{1,128}$/;

/** Moves the reason of a failed sign-in from the address to the storage, from which `Login` takes it. */
export function noteFailedSignIn(): void {
  const told = new URLSearchParams(location.hash.slice(1));
  const reason = told.get('sign-in-failed');
  const reference = told.get('reference') ?? '';
  if (reason === null) return;
  history.replaceState(null, '', location.pathname + location.search);
  if (!REFERENCE.test(reference)) return;
  const what = (Object.hasOwn(FAILURES, reason) && FAILURES[reason]) || FAILURES['unavailable']!;
  sessionStorage.setItem('skein.refused', `${what} Reference: ${reference}`);
}
