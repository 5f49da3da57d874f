import { LINE_BREAK } from "@switchyard/contracts/channels/group-message";
import { visible } from "@switchyard/service/visible-text";

/** Writes a text on one line, with its invisible characters. */
export function oneLine(text: string): string {
  return visible(text.split(LINE_BREAK).join(" ").replaceAll("\t", " "));
}
