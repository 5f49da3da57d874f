import { randomBytes } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { openDecision } from "@switchyard/contracts/channels/channels";
import { DecisionToken } from "@switchyard/contracts/channels/question-page";
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
/** A text of 10,000 characters, each written as up to nine bytes. */
const MAX_FORM = 100_000;
const PRESS_BYTES = 16;

/**
 * `GET` and `POST /decide/{token}`: the page of a link in a mail. Programs that check mail open links, so `GET` shows the call or question alone; the
 * form of its page decides or answers. The page has no script, no style and no external content.
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
  const given = Object.fromEntries(
    [...form].filter(([name]) => ["verdict", "choice", "text"].includes(name)),
  );
  const { choice, ...fields } = given;
  const press = openDecision.request.shape.press.safeParse({
    ...fields,
    ...(choice !== undefined && { choice: Number(choice) }),
    id: form.get("press"),
  });
  if (press.success && press.data !== undefined && Object.keys(given).length === 1)
    return press.data;
  const detail =
    "the form needs press and one of verdict (approve or deny), choice and text; open the link again";
  throw new Problem({ status: 400, code: "bad_request", detail });
}

const BUTTONS = html`<button name="verdict" value="approve">Approve</button>
  <button name="verdict" value="deny">Deny</button>`;

type Shown = z.output<typeof openDecision.reply>;

function decisionPage({ text, outcome, isOpen, question }: Shown) {
  const title = question === undefined ? "Decide about a call" : "Answer a question";
  const stated = outcome === null ? "" : html`<p><strong>${outcome}</strong></p>`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>Switchyard: ${title}</title>
      </head>
      <body>
        <h1>${title}</h1>
        ${stated}${isOpen ? formsOf(question) : ""}
        <pre>${text}</pre>
      </body>
    </html> `;
}

function formsOf(question: Shown["question"]) {
  const id = randomBytes(PRESS_BYTES).toString("base64url");
  const press = html`<input type="hidden" name="press" value="${id}" />`;
  if (question === undefined) return html`<form method="post">${press}${BUTTONS}</form>`;
  const choices = question.choices.map(
    (label, at) => html`<button name="choice" value="${at}">${label}</button> `,
  );
  const text = html`<form method="post">
    ${press}<label
      >Your answer<br /><textarea name="text" required maxlength="10000"></textarea>
    </label>
    <button>Answer</button>
  </form>`;
  return html`${choices.length > 0 ? html`<form method="post">${press}${choices}</form>` : ""}
  ${question.takesText ? text : ""}`;
}
