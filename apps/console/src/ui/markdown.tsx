import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useMemo } from "preact/hooks";

/** HTML in the text stays text, and an image becomes its description: neither reaches the parser of the page. */
const marked = new Marked({
  gfm: true,
  async: false,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ text }) => escaped(text),
  },
});

/** Longer texts stay plain: parsing them would block the page, and people do not read them as one. */
const LONGEST = 100_000;

const RULES = {
  ALLOWED_TAGS: [
    ..."p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del a".split(" "),
    ..."table thead tbody tr th td".split(" "),
  ],
  ALLOWED_ATTR: ["href", "title", "align"],
  ALLOWED_URI_REGEXP: /^(https?:|mailto:)/i,
  RETURN_TRUSTED_TYPE: true,
} as const;

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A" || !node.hasAttribute("href")) return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
});

/** Text of a model or a tool, as Markdown without anything that could act: no images, no scripts, no styles. */
export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => (text.length > LONGEST ? null : htmlOf(text)), [text]);
  if (html === null) return <pre class="text">{text}</pre>;
  // A TrustedHTML of the sanitizer's policy; Preact passes it on unchanged.
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: html as string }} />;
}

/** A TrustedHTML, or null for a text that cannot be read. */
function htmlOf(text: string): unknown {
  try {
    return DOMPurify.sanitize(marked.parse(text) as string, {
      ...RULES,
      ALLOWED_TAGS: [...RULES.ALLOWED_TAGS],
      ALLOWED_ATTR: [...RULES.ALLOWED_ATTR],
    });
  } catch {
    return null;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? "");
}
