/** Characters that are not seen. */
export const UNSEEN = /[\u00AD\u200B-\u200D\u2060\uFEFF]/g;
const DASHES = /[\p{Pd}\u2212]/gu;
/** Letters of other alphabets that look like Latin ones, used in a key by mistake or on purpose. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  а: "a",
  с: "c",
  ԁ: "d",
  е: "e",
  і: "i",
  ј: "j",
  о: "o",
  р: "p",
  ѕ: "s",
  ν: "v",
  ο: "o",
  α: "a",
  ι: "i",
  κ: "k",
  к: "k",
  м: "m",
  т: "t",
  һ: "h",
  ь: "b",
  ԝ: "w",
};
const ALL_LOOKALIKES = new RegExp(`[${Object.keys(LOOKALIKES).join("")}]`, "giu");
const TYPOGRAPHIC_QUOTES = /[“”„‟«»‹›「」『』‘’‚‛＂]/g;

/** All of these, and letters of other widths and styles. */
const ODD =
  /[\u00AD\u200B-\u200D\u2010-\u201F\u2060\u2212\u300C-\u300F\u0370-\u052F\uFE58\uFE63\uFEFF\uFF02\uFF0D\uFF21-\uFF5A«»‹›\u{1D400}-\u{1D7FF}]/u;

/** Normalises the hyphens and letters of a text's keys; its other characters may change, its lines do not. */
export function withPlainKeys(text: string): string {
  if (!ODD.test(text)) return text;
  return text
    .normalize("NFKC")
    .replaceAll(UNSEEN, "")
    .replaceAll(DASHES, "-")
    .replaceAll(TYPOGRAPHIC_QUOTES, '"')
    .replaceAll(ALL_LOOKALIKES, (letter) => LOOKALIKES[letter.toLowerCase()] ?? letter);
}

/** Returns a value without the quotes of word processors, which are no YAML quotes. Null when it has none. */
export function withoutTypographicQuotes(value: unknown): unknown {
  const written = JSON.stringify(value) ?? "";
  return TYPOGRAPHIC_QUOTES.test(written)
    ? (JSON.parse(written.replaceAll(TYPOGRAPHIC_QUOTES, "")) as unknown) // as plain as it went in
    : null;
}
