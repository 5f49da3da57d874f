import type { Check } from "../pattern-rule.ts";

/** Drops a link that is not an image's: only an image is fetched without a click. */
export const inImage: Check = (match, { text }) => {
  const open = text.lastIndexOf("[", match.index);
  const isImage = open > 0 && match.index - open < 200 && text[open - 1] === "!";
  return isImage ? {} : null;
};
