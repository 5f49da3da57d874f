const MAX_LENGTH = 64;
/** Nearly every name already is its own slug. */
const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
/** Marks are the dots and accents that are separate characters after NFKD. */
const INVISIBLE_OR_MARK = /[\p{Cc}\p{Cf}\p{Mn}]/gu;

/** Letters that are not another letter with a mark. */
const SPELT_OUT: Readonly<Record<string, string>> = {
  æ: "ae",
  ð: "d",
  đ: "d",
  ı: "i",
  ł: "l",
  ø: "o",
  œ: "oe",
  ß: "ss",
  þ: "th",
};

/**
 * Returns the name under which a skill is stored and called: lower case, `-` between words, at most 64 characters of `a-z 0-9 -`.
 * Null when no character is left, or when the text is a path rather than a name.
 */
export function slugOf(name: string): string | null {
  if (name.length <= MAX_LENGTH && SLUG.test(name)) return name;
  if (/[/\\\0]|\.\./.test(name)) return null;
  const slug = name
    .normalize("NFKD")
    .replaceAll(INVISIBLE_OR_MARK, "")
    .toLowerCase()
    .replaceAll(/[æðđıłøœßþ]/g, (letter) => SPELT_OUT[letter] ?? "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, MAX_LENGTH)
    .replace(/-+$/, "");
  return slug === "" ? null : slug;
}

/** True when letters of a name are missing from its slug: it would be another word, or half a word. */
export function losesLetters(name: string): boolean {
  if (SLUG.test(name)) return false;
  const left = name
    .normalize("NFKD")
    .replaceAll(INVISIBLE_OR_MARK, "")
    .toLowerCase()
    .replaceAll(/[æðđıłøœßþ]/g, "");
  return /[^\P{L}a-z]/u.test(left);
}
