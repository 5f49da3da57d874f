import type { Bus } from "@switchyard/bus/bus";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import { fillTemplate, fillValue, TemplateError } from "@switchyard/contracts/pointer-template";
import { RunInput } from "@switchyard/contracts/agent-runner/runs";
import type { Log } from "@switchyard/service/log";
import type { Context } from "hono";
import {
  checkWebhook,
  isOneOf,
  WEBHOOK_TOLERANCE_SECONDS,
} from "@switchyard/service/standard-webhook";
import type { AcceptedRuns } from "../agent-runs/accepted-runs.ts";
import { leaveAgentRun } from "../agent-runs/start-run.ts";
import { requesterOf } from "../identity/requester.ts";
import {
  checkAddress,
  countRequest,
  limitAddress,
  type AuthenticationParts,
} from "../identity/authenticate.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { Problem } from "../problems/problem.ts";
import { bodyLimits, checkJson, jsonOf, readBytes } from "../routes/read-body.ts";
import type { Hook, Hooks, TEMPLATE_FIELDS } from "./hooks-file.ts";

export interface HookParts extends AuthenticationParts {
  readonly bus: Bus;
  readonly log: Log;
  readonly accepted: AcceptedRuns;
  readonly hooks: Hooks;
  readonly now: () => number;
}

const BODY_LIMITS = bodyLimits(1024 * 1024);
/** The limit in a minute, for one address at one hook. */
const BAD_DELIVERIES = 30;
const LABEL_LENGTH = 256;

/** `POST /hooks/{name}`: starts a run for each delivery that was signed, as the caller of the hook's own key. */
export function createHookEndpoint(
  parts: HookParts,
): (c: Context<GatewayEnv>) => Promise<Response> {
  return async (c) => {
    const hook = parts.hooks.get(c.req.param("name") ?? "");
    if (hook === undefined) {
      await limitAddress(c, parts, { what: "unknown hook", limit: BAD_DELIVERIES });
      const detail = "there is no hook of this name: hooks.json of the gateway names them";
      throw new Problem({ status: 404, code: "unknown_hook", detail });
    }
    checkAddress(c, parts, { what: `hook ${hook.name}`, limit: BAD_DELIVERIES });
    const bytes = await readBytes(c, BODY_LIMITS.maxBytes);
    const delivery = await signedDelivery(c, parts, { hook, body: bytes });
    checkJson(bytes, BODY_LIMITS);
    const body = jsonOf(bytes, c.req.header("content-type"));
    const event = delivery.event ?? typeIn(body);
    const unwanted = whyIgnored(hook, event, body);
    if (unwanted !== null) return c.json({ runId: null, ignored: unwanted }, 200);
    const input = inputOf(hook, { body, event, delivery: delivery.id, hook: hook.name });
    const runId = await start(c, parts, { hook, input, event, delivery: delivery.id });
    return c.json({ runId }, 202, { location: `/api/v1/runs/${runId}` });
  };
}

async function signedDelivery(
  c: Context<GatewayEnv>,
  parts: HookParts,
  { hook, body }: { hook: Hook; body: Uint8Array },
): Promise<SignedDelivery> {
  const { headers } = c.req.raw;
  const checked = checkSignature(hook, { headers, body, nowMs: parts.now() });
  if ("delivery" in checked) return checked.delivery;
  const { code, detail } = checked.refusal;
  await limitAddress(c, parts, { what: `hook ${hook.name}`, limit: BAD_DELIVERIES });
  parts.access.refused(c, null, { operation: `POST /hooks/${hook.name}`, status: 403, code });
  throw new Problem({ status: 403, code, detail });
}

/** Standard Webhooks recommend a `type` in the body that names the event. */
function typeIn(body: unknown): string | null {
  const type = fieldOf(body, "type");
  return typeof type === "string" ? type : null;
}

/** `issues` selects all events of that name, `issues.opened` those with the action. */
function whyIgnored({ form, events }: Hook, event: string | null, body: unknown): string | null {
  if (form === "github" && event === "ping") return "a ping starts no run";
  if (events === null || (event !== null && events.has(event))) return null;
  const action = form === "github" ? fieldOf(body, "action") : undefined;
  const whole = typeof action === "string" ? `${event}.${action}` : event;
  if (whole !== null && events.has(whole)) return null;
  return `the hook does not want the event ${whole === null ? "without a type" : cutText(whole, LABEL_LENGTH)}`;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name] // An object's own properties can be read by name.
    : undefined;
}

function inputOf(
  { input }: Hook,
  document: Readonly<Record<(typeof TEMPLATE_FIELDS)[number], unknown>>,
): RunInput {
  try {
    const filled =
      typeof input === "string"
        ? fillTemplate(input, document, "input")
        : fillValue(input, document, "input");
    const parsed = RunInput.safeParse(filled);
    if (parsed.success) return parsed.data;
    throw new TemplateError("input: what the template comes to must be a text or a JSON object");
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const detail = `this delivery does not fit the hook's template: ${error.message}`;
    throw new Problem({ status: 422, code: "template_error", detail });
  }
}

async function start(
  c: Context<GatewayEnv>,
  parts: HookParts,
  about: { hook: Hook; input: RunInput; event: string | null; delivery: string },
): Promise<string> {
  const { hook, input, event, delivery } = about;
  const { name, agent, key } = hook;
  try {
    const user = await parts.users.identify(key);
    await countRequest(c, parts, user);
    c.set("user", user);
    c.set("credential", key);
    return await leaveAgentRun(parts, requesterOf(c, parts), {
      agent,
      input,
      repeatKey: `${name}\n${delivery}`,
      labels: {
        hook: name,
        delivery,
        ...(event !== null && { event: cutText(event, LABEL_LENGTH) }),
      },
      via: "hook",
    });
  } catch (error) {
    if (!(error instanceof ServiceError) || !OF_THE_OPERATOR.has(error.code)) throw error;
    const requestId = c.get("requestId");
    parts.log.warn({ hook: name, agent, code: error.code, requestId }, "hook cannot start runs");
    const detail = `the hook ${name} cannot start its run, which its operator has to put right: ${error.message}`;
    throw new Problem({ status: 503, code: "hook_unavailable", detail });
  }
}

/** These errors are not the sender's fault: when the sender repeats the delivery later, the operator may have fixed the cause. */
const OF_THE_OPERATOR: ReadonlySet<string> = new Set([
  "bad_credential",
  "forbidden",
  "unknown_agent",
]);

/** The facts in the headers of a delivery whose signature is valid. */
interface SignedDelivery {
  readonly id: string;
  /** Null when the event is named in the body. */
  readonly event: string | null;
}

type Checked =
  | { readonly delivery: SignedDelivery }
  | { readonly refusal: { readonly code: string; readonly detail: string } };

const ID = /^[\x21-\x7e]{1,256}$/;

/** Checks that one of the hook's secrets has signed the body, and returns the delivery. */
export function checkSignature(
  hook: Pick<Hook, "form" | "secrets">,
  { headers, body, nowMs }: { headers: Headers; body: Uint8Array; nowMs: number },
): Checked {
  return hook.form === "github"
    ? checkGitHub(hook.secrets, headers, body)
    : checkStandard(hook.secrets, { headers, body, nowMs });
}

function checkStandard(
  secrets: readonly Uint8Array[],
  { headers, body, nowMs }: { headers: Headers; body: Uint8Array; nowMs: number },
): Checked {
  const checked = checkWebhook(secrets, { header: (name) => headers.get(name), body, nowMs });
  if ("id" in checked) return { delivery: { id: checked.id, event: null } };
  switch (checked.refusal) {
    case "missing":
      return missing("webhook-id, webhook-timestamp and webhook-signature");
    case "wrong":
      return WRONG;
    case "expired": {
      const detail = `webhook-timestamp is more than ${WEBHOOK_TOLERANCE_SECONDS} seconds away from the clock here`;
      return { refusal: { code: "expired_signature", detail } };
    }
    default:
      return checked.refusal satisfies never;
  }
}

/** https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries; it signs no time and no id. */
function checkGitHub(secrets: readonly Uint8Array[], headers: Headers, body: Uint8Array): Checked {
  const id = headers.get("x-github-delivery") ?? "";
  const event = headers.get("x-github-event") ?? "";
  const [, signature] =
    /^sha256=([0-9a-f]{64})$/.exec(headers.get("x-hub-signature-256") ?? "") ?? [];
  if (!ID.test(id) || !ID.test(event) || signature === undefined)
    return missing("X-GitHub-Delivery, X-GitHub-Event and X-Hub-Signature-256");
  const given = [Buffer.from(signature, "hex")];
  return isOneOf(given, secrets, (hmac) => hmac.update(body)) ? { delivery: { id, event } } : WRONG;
}

const WRONG: Checked = {
  refusal: {
    code: "bad_signature",
    detail:
      "none of this hook's secrets has signed this body: compare the secret here and at the sender",
  },
};

function missing(headers: string): Checked {
  return { refusal: { code: "bad_signature", detail: `the headers ${headers} must be there` } };
}
