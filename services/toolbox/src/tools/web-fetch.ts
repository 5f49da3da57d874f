import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { z } from "zod";
import { defineTool, type Tool, type ToolResult } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { checkAddress, fetchPage, type Elsewhere } from "../web/fetch-page.ts";
import { createHtmlTexts } from "../web/html-text.ts";
import { pageText } from "../web/page-text.ts";
import { cutBytes } from "../workspace/cut-bytes.ts";

/** The limit of the response body, before HTML becomes text. */
export const PAGE_LIMIT_BYTES = 2 * 1024 * 1024;
/** The limit of one call's result, in bytes. */
export const TEXT_LIMIT_BYTES = 50 * 1024;
const TIMEOUT_MS = 20_000;

const Input = z.strictObject({
  url: z.string().min(1).max(4_096).describe("http or https URL of a public page"),
  offset: z.int().nonnegative().default(0).describe("Byte of the page's text to begin at"),
});

export function createWebFetch(guard: EgressGuard, html = createHtmlTexts()): Tool<typeof Input> {
  return defineTool({
    name: "web_fetch",
    description: `Gets a page of the public web by GET and returns its text, HTML without its tags. At most ${TEXT_LIMIT_BYTES} bytes; 'offset' reads on from there. A redirect to another host is reported, not followed.`,
    input: Input,
    check({ url }) {
      checkAddress(url, guard);
    },
    async run({ url, offset }, { caller, signal }) {
      const page = await fetchPage(url, {
        guard,
        signal,
        timeoutMs: TIMEOUT_MS,
        limitBytes: PAGE_LIMIT_BYTES,
      });
      if ("elsewhere" in page) return redirected(page);
      const text = await pageText(page, { html, signal, caller });
      if (text === null)
        throw new ToolError(
          `'${page.url}' is ${page.mediaType || "not text"}; only text can be fetched.`,
        );
      const whole = Buffer.from(text, "utf8");
      if (offset > whole.length)
        throw new ToolError(`The text has ${whole.length} bytes; offset ${offset} is behind it.`);
      const kept = cutBytes(whole.subarray(offset), TEXT_LIMIT_BYTES);
      const end = offset + kept.length;
      const content = kept.toString("utf8");
      const notes = [
        ...(end < whole.length
          ? [
              `[truncated: bytes ${offset} to ${end} of ${whole.length}; continue with offset ${end}]`,
            ]
          : []),
        ...(page.truncated
          ? [`[only the first ${PAGE_LIMIT_BYTES} bytes of the page were read]`]
          : []),
      ];
      return {
        text: [`${page.url} answered ${page.status}.`, "", content, ...notes].join("\n"),
        structured: {
          url: page.url,
          status: page.status,
          mediaType: page.mediaType,
          content,
          bytes: kept.length,
          size: whole.length,
          truncated: end < whole.length || page.truncated,
        },
      };
    },
  });
}

/** The new URL is decided about like every other one, in a call of its own. */
function redirected({ url, status, elsewhere }: Elsewhere): ToolResult {
  const text = `${url} answered ${status} and leads to another host: ${elsewhere}\nNothing was fetched from there; call web_fetch with that URL if it is what you want.`;
  return { text, structured: { url, status, redirect: elsewhere } };
}
