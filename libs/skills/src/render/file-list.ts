import { escapeXml } from "./escape-xml.ts";

const MAX_FILES = 50;
const MAX_PATH = 256;

/**
 * Lists for a model the files that belong to a skill, so that it requests only files that exist. A line break follows; empty when
 * there are none. At most 50 are named, in path order.
 */
export function fileList(directory: string, files: readonly string[]): string {
  const named = files.filter((file) => file.length <= MAX_PATH).toSorted();
  if (named.length === 0) return "";
  const lines = named.slice(0, MAX_FILES).map((file) => `  <file>${escapeXml(file)}</file>\n`);
  const more = files.length - lines.length;
  const note = more === 0 ? "" : `  <!-- ${more} more files -->\n`;
  return `<skill_files directory="${escapeXml(directory)}">\n${lines.join("")}${note}</skill_files>\n`;
}
