/** Makes a text safe inside of an XML element or attribute. */
export function escapeXml(text: string): string {
  if (!/[&<>"']/.test(text)) return text;
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&apos;");
}
