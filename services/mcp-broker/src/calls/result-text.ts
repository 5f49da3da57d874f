import type { ContentBlock } from "@switchyard/contracts/mcp";

/**
 * The text form of a tool result that an agent observes. An error shows only its text blocks, so
 * that the reason is not buried under placeholders.
 */
export function resultText(result: { content: readonly ContentBlock[]; isError: boolean }): string {
  if (result.isError) {
    const texts = result.content.filter((block) => block.type === "text").map(blockText);
    return `Error: ${texts.join("\n")}`;
  }
  return result.content.map(blockText).join("\n");
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return stringOf(block["text"]);
    case "image":
      return `[Image: ${stringOf(block["mimeType"])}, ${stringOf(block["data"]).length} bytes base64]`;
    case "resource":
      return resourceText(block["resource"]);
    default:
      return "[Unknown content type]";
  }
}

function resourceText(resource: unknown): string {
  if (typeof resource !== "object" || resource === null) return "[Resource: ]";
  if ("text" in resource && typeof resource.text === "string") return resource.text;
  return `[Resource: ${"uri" in resource ? stringOf(resource.uri) : ""}]`;
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
