/** Replaces secrets in a text. */
export type Redactor = (text: string) => string;

/** Shorter values occur in too many ordinary words. */
const MIN_LENGTH = 4;

/** Makes a function that replaces the secrets by `…`, also where they are encoded for a URL. */
export function createRedactor(secrets: readonly string[]): Redactor {
  const shown = secrets
    .flatMap((secret) => (secret.length < MIN_LENGTH ? [] : [secret, encodeURIComponent(secret)]))
    // Longest first, so that one inside of another leaves no rest behind.
    .toSorted((a, b) => b.length - a.length);
  return (text) => shown.reduce((rest, secret) => rest.replaceAll(secret, "…"), text);
}
