const MAX_LENGTH = 64;
/** What nearly every name is: its own slug. */
const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const INVISIBLE = /[\p{Cc}\p{Cf}]/gu;

/**
 * The name under which a skill is stored and called: lower case, `-` between words, at most 64
 * characters of `a-z 0-9 -`. Null when nothing is left, or when the text is a path rather than a name.
 */
export function slugOf(name: string): string | null {
  if (name.length <= MAX_LENGTH && SLUG.test(name)) return name;
  if (/[/\\\0]|\.\./.test(name)) return null;
  const slug = name
    .normalize("NFKC")
    .replaceAll(INVISIBLE, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, MAX_LENGTH)
    .replace(/-+$/, "");
  return slug === "" ? null : slug;
}
