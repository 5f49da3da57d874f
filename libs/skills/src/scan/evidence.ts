const MAX_CHARACTERS = 140;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Variation_Selector}\u{115F}\u{1160}\u{3164}\u{FFA0}]/gu;
const LONG_WORD = /[A-Za-z0-9+_=-]{20,}/g;
const PASSWORD_IN_URL = /:\/\/([^\s:/@]{1,64}):[^\s/@]{1,128}@/g;

/**
 * Returns a piece of a file for a report: on one line, shortened, with escapes for invisible characters, and with only the first
 * characters of anything that could be a secret.
 */
export function evidenceOf(text: string): string {
  const cut = text.slice(0, MAX_CHARACTERS * 2);
  const shown = cut
    .replaceAll(/\s+/g, " ")
    .trim()
    .replaceAll(PASSWORD_IN_URL, "://$1:…@")
    .replaceAll(LONG_WORD, (word) => (isTokenLike(word) ? `${word.slice(0, 6)}…` : word))
    .replaceAll(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`)
    .toWellFormed();
  return shown.length > MAX_CHARACTERS ? `${shown.slice(0, MAX_CHARACTERS)}…` : shown;
}

function isTokenLike(word: string): boolean {
  return /\d/.test(word) && /[A-Za-z]/.test(word);
}
