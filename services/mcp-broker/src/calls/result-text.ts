import type { ContentBlock } from "@switchyard/contracts/mcp-broker/mcp";

interface Result {
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  readonly structuredContent?: unknown;
}

/**
 * The text form of a tool result that an agent observes. An error shows only its text blocks, so
 * that the reason is not buried under placeholders. Structured content is shown where no text has the same content: MCP requires
 * a text beside it, and many servers leave that out. See decision 031 for what differs from requirement A17.
 */
export function resultText({ content, isError, structuredContent }: Result): string {
  const texts = content.filter((block) => textOf(block) !== "");
  const structured =
    texts.length > 0 || structuredContent === undefined ? [] : [JSON.stringify(structuredContent)];
  const isReasonText = isError && (texts.length > 0 || structured.length > 0);
  const shown = isReasonText ? content.filter(({ type }) => type === "text") : content;
  const lines = [...shown.map(blockText), ...structured];
  // Empty blocks are placeholders for missing text.
  const text = (structured.length > 0 ? lines.filter((line) => line !== "") : lines).join("\n");
  return isError ? `Error: ${text}` : text;
}

/** The text of a block, without a placeholder. */
function textOf({ type, text, resource }: ContentBlock): string {
  if (type === "text") return stringOf(text);
  const isEmbedded = type === "resource" && typeof resource === "object" && resource !== null;
  return isEmbedded && "text" in resource ? stringOf(resource.text) : "";
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return stringOf(block["text"]);
    case "image":
      return `[Image: ${mediaText(block)}]`;
    case "audio":
      return `[Audio: ${mediaText(block)}]`;
    case "resource":
      return resourceText(block["resource"]);
    case "resource_link":
      return `[Resource link: ${linkText(block)}]`;
    default:
      return "[Unknown content type]";
  }
}

function mediaText({ mimeType, data }: ContentBlock): string {
  return `${stringOf(mimeType)}, ${stringOf(data).length} bytes base64`;
}

function linkText({ title, name, uri, description }: ContentBlock): string {
  const [called, address, about] = [
    stringOf(title) || stringOf(name),
    stringOf(uri),
    stringOf(description),
  ];
  const named = called === "" || called === address ? address : `${called}, ${address}`;
  return about === "" ? named : `${named}: ${about}`;
}

function resourceText(resource: unknown): string {
  if (typeof resource !== "object" || resource === null) return "[Resource: ]";
  if ("text" in resource && typeof resource.text === "string") return resource.text;
  return `[Resource: ${"uri" in resource ? stringOf(resource.uri) : ""}]`;
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
