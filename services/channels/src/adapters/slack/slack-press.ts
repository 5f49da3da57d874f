import { within } from "@switchyard/contracts/timeouts";
import { cutText } from "@switchyard/contracts/cut-text";
import { z } from "zod";
import {
  type ButtonPress,
  ChannelError,
  type InboundSink,
  type OutgoingMessage,
} from "../adapter.ts";
import { providerUrl } from "../fetch-file.ts";
import { slackText } from "./slack-message.ts";

/** Slack shows a failure after 3 s: https://docs.slack.dev/interactivity/handling-user-interaction#acknowledgment_response */
const ACKNOWLEDGE_MS = 2_000;
const ANSWER_MS = 10_000;
const RESPONSE_HOSTS = ["hooks.slack.com", "hooks.slack-gov.com"];
const MAX_TITLE = 150;

/** https://docs.slack.dev/reference/interaction-payloads/block_actions-payload, for a button of a message. */
const Press = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id: z.string() }),
  container: z.object({
    type: z.literal("message"),
    message_ts: z.string(),
    channel_id: z.string(),
  }),
  response_url: z.string(),
  actions: z
    .array(z.object({ type: z.literal("button"), value: z.string(), action_ts: z.string() }))
    .length(1),
});

/** True for an interaction, which is no event with a message. */
export function isSlackPress(payload: unknown): boolean {
  return (payload as { readonly type?: unknown }).type === "block_actions";
}

/**
 * Handles a press of a button, and resolves when it is to be acknowledged: when it was handled, and at the latest before Slack shows a
 * failure. The person alone sees the answer. Slack does not repeat a press that was not acknowledged; the person presses again.
 */
export async function answerSlackPress(
  payload: unknown,
  { sink, apiUrl }: { readonly sink: Pick<InboundSink, "press">; readonly apiUrl: string },
): Promise<void> {
  const { data } = Press.safeParse(payload);
  const [action] = data?.actions ?? [];
  if (data === undefined || action === undefined) return;
  const work = handle(sink, pressOf(data, action)).then(
    (text) => respond(data.response_url, text, apiUrl).catch(() => {}), // the message about the call shows the decision
  );
  await within(work, { ms: ACKNOWLEDGE_MS });
}

async function handle(sink: Pick<InboundSink, "press">, press: ButtonPress): Promise<string> {
  try {
    return (await sink.press(press)).text;
  } catch {
    return "No answer: the service cannot store the press. Press again later.";
  }
}

function pressOf(
  { user, container: { message_ts: messageId, channel_id: channel } }: z.infer<typeof Press>,
  { value, action_ts: at }: z.infer<typeof Press>["actions"][number],
): ButtonPress {
  // The conversation with a person has an id of its own, and no third member.
  const isDirect = channel.startsWith("D");
  return {
    target: isDirect ? { kind: "user", id: user.id } : { kind: "channel", id: channel },
    messageId,
    personId: user.id,
    data: value,
    pressId: `${user.id}:${at}`,
  };
}

/** https://docs.slack.dev/interactivity/handling-user-interaction#message_responses */
async function respond(address: string, text: string, apiUrl: string): Promise<void> {
  const url = providerUrl(address, { hosts: RESPONSE_HOSTS, origin: apiUrl });
  const body = { response_type: "ephemeral", replace_original: false, text: slackText(text) };
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    redirect: "error",
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  await answer.body?.cancel();
  if (!answer.ok)
    throw new ChannelError("provider_error", `Slack answered with status ${answer.status}.`);
}

/**
 * Returns the fields of a message. The texts of rich text are shown as they are; `text` is then what notifications show, which is
 * never more than the first line.
 */
export function slackContent({
  text,
  verbatimFrom,
  buttons = [],
}: Pick<OutgoingMessage, "text" | "verbatimFrom" | "buttons">): {
  readonly text: string;
  readonly blocks?: readonly object[];
} {
  if (verbatimFrom === undefined) return { text: slackText(text) };
  const [title = ""] = text.split("\n", 1);
  const elements = [
    ...partOf("rich_text_section", text.slice(0, verbatimFrom)),
    ...partOf("rich_text_preformatted", text.slice(verbatimFrom)),
  ];
  const actions = buttons.map(({ label, data }, index) => ({
    type: "button",
    text: { type: "plain_text", text: label },
    action_id: `decide-${index}`,
    value: data,
  }));
  return {
    text: slackText(cutText(title, MAX_TITLE)),
    blocks: [
      { type: "rich_text", elements },
      ...(actions.length > 0 ? [{ type: "actions", elements: actions }] : []),
    ],
  };
}

function partOf(type: string, value: string): readonly object[] {
  return value === "" ? [] : [{ type, elements: [{ type: "text", text: value }] }];
}
