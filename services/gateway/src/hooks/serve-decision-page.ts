import { randomBytes } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { DecisionToken, openDecision } from "@switchyard/contracts/channels/channels";
import { isError } from "@switchyard/contracts/errors";
import type { Context } from "hono";
import { html } from "hono/html";
import type { z } from "zod";
import { checkAddress, limitAddress, type AuthenticationParts } from "../identity/authenticate.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { Problem } from "../problems/problem.ts";
import { readBytes } from "../routes/read-body.ts";

/** The limit in a minute, for one address. */
const BAD_LINKS = { what: "decision link", limit: 30 };
const MAX_FORM = 1_024;
const PRESS_BYTES = 16;

/**
 * `GET` and `POST /decide/{token}`: the page of a link in a mail. Programs that check mail open links, so `GET` shows the call alone; the
 * form of its page decides. The page has no script, no style and no external content.
 */
export function createDecisionPage(
  parts: AuthenticationParts & { readonly bus: Bus },
): (c: Context<GatewayEnv>) => Promise<Response> {
  const unknown = async (c: Context<GatewayEnv>): Promise<Problem> => {
    await limitAddress(c, parts, BAD_LINKS);
    const detail =
      "this link is unknown, incomplete or too old; yard approvals list shows what waits";
    return new Problem({ status: 404, code: "unknown_link", detail });
  };
  return async (c) => {
    checkAddress(c, parts, BAD_LINKS);
    const token = DecisionToken.safeParse(c.req.param("token"));
    if (!token.success) throw await unknown(c);
    const press = c.req.method === "POST" ? await pressOf(c) : null;
    try {
      const request = { token: token.data, ...(press && { press }) };
      const shown = await call(parts.bus, openDecision, request, {
        correlationId: c.get("requestId"),
      });
      // Without a referrer a browser names no origin with the form, and the gateway would refuse it.
      return c.html(decisionPage(shown), 200, { "referrer-policy": "same-origin" });
    } catch (error) {
      if (isError(error, openDecision, "unknown_link")) throw await unknown(c);
      throw error;
    }
  };
}

async function pressOf(c: Context<GatewayEnv>) {
  const form = new URLSearchParams(new TextDecoder().decode(await readBytes(c, MAX_FORM)));
  const press = openDecision.request.shape.press.safeParse({
    verdict: form.get("verdict"),
    id: form.get("press"),
  });
  if (press.success && press.data !== undefined) return press.data;
  const detail = "the form needs verdict (approve or deny) and press; open the link again";
  throw new Problem({ status: 400, code: "bad_request", detail });
}

const BUTTONS = html`<button name="verdict" value="approve">Approve</button>
  <button name="verdict" value="deny">Deny</button>`;

function decisionPage({ text, outcome, isOpen }: z.output<typeof openDecision.reply>) {
  const press = randomBytes(PRESS_BYTES).toString("base64url");
  const form = html`<form method="post">
    <input type="hidden" name="press" value="${press}" />${BUTTONS}
  </form>`;
  const stated = outcome === null ? "" : html`<p><strong>${outcome}</strong></p>`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>Switchyard: decide about a call</title>
      </head>
      <body>
        <h1>Decide about a call</h1>
        ${stated}${isOpen ? form : ""}
        <pre>${text}</pre>
      </body>
    </html> `;
}
