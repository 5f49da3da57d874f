/** Renders a page for a person on the way to or from the provider; it has no script, no style and no external content. */
export function signInPage(page: {
  readonly title: string;
  readonly text: string;
  readonly href: string;
  readonly link: string;
  /** The page continues without a click. A redirect would count as one of the provider, with which no strict cookie is sent. */
  readonly goesOn: boolean;
}): string {
  const { title, text, href, link, goesOn } = page;
  const refresh = goesOn ? `<meta http-equiv="refresh" content="0;url=${escaped(href)}">` : "";
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>${refresh}</head>
<body><h1>${escaped(title)}</h1><p>${escaped(text)}</p><p><a href="${escaped(href)}">${escaped(link)}</a></p></body></html>
`;
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replaceAll(/[&<>"']/g, (character) => names[character] ?? "");
}
