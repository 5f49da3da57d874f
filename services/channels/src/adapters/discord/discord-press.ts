import type { REST } from "@discordjs/rest";
import { cutText } from "@switchyard/contracts/cut-text";
import { z } from "zod";
import type { ButtonPress, InboundSink, MessageButton, OutgoingMessage } from "../adapter.ts";

/** https://docs.discord.com/developers/resources/message#create-message: the longest content, less the marks of a code block. */
const MAX_BLOCK = 1_990;
const MAX_ANSWER = 2_000;
/** https://docs.discord.com/developers/interactions/receiving-and-responding: a first response has 3 s, later ones 15 minutes. */
const FIRST_MS = 2_500;
const TOKEN_MS = 15 * 60_000;
const EPHEMERAL = 1 << 6;
const DEFERRED_MESSAGE = 5;
const MESSAGE_COMPONENT = 3;
const BUTTON = 2;
const ACTION_ROW = 1;
const PER_ROW = 5;
const SECONDARY = 2;
const THREADS = new Set([10, 11, 12]);
/** Milliseconds of an id: https://docs.discord.com/developers/reference#snowflakes. */
const EPOCH = 1_420_070_400_000n;

const User = z.object({ id: z.string() });
const Interaction = z.object({
  id: z.string().regex(/^\d{1,20}$/),
  application_id: z.string().regex(/^\d{1,20}$/),
  type: z.literal(MESSAGE_COMPONENT),
  token: z.string().regex(/^[\w.-]{1,500}$/),
  guild_id: z.string().optional(),
  channel_id: z.string(),
  channel: z.object({ type: z.int(), parent_id: z.string().nullish() }).optional(),
  /** In a server the person is in `member`. */
  member: z.object({ user: User }).optional(),
  user: User.optional(),
  message: z.object({ id: z.string() }),
  data: z.object({ component_type: z.literal(BUTTON), custom_id: z.string().max(100) }),
});

/**
 * Handles a press of a button. Discord shows a failure after 3 s, so the press is acknowledged before its outcome is known; the person
 * alone sees the answer. Never rejects: an interaction whose answer is lost is visible as one, and the person presses again.
 */
export async function answerDiscordPress(
  rest: REST,
  payload: unknown,
  { sink, now }: { readonly sink: Pick<InboundSink, "press">; readonly now: () => number },
): Promise<void> {
  const { data: interaction } = Interaction.safeParse(payload);
  const press = interaction === undefined ? null : pressOf(interaction);
  // A resumed session repeats interactions, whose answers no one sees after that time.
  if (interaction === undefined || press === null || now() - sentAt(interaction.id) > TOKEN_MS)
    return;
  const { id, token, application_id: application } = interaction;
  const deferred = rest
    .post(`/interactions/${id}/${token}/callback`, {
      auth: false,
      body: { type: DEFERRED_MESSAGE, data: { flags: EPHEMERAL } },
      signal: AbortSignal.timeout(FIRST_MS),
    })
    .catch(() => {}); // too late, or acknowledged by an earlier delivery
  const answer = await Promise.resolve(sink.press(press)).catch(() => ({
    text: "No answer: the service cannot store the press. Press again later.",
  }));
  await deferred;
  await rest
    .patch(`/webhooks/${application}/${token}/messages/@original`, {
      auth: false,
      body: { content: cutText(answer.text, MAX_ANSWER), allowed_mentions: { parse: [] } },
      signal: AbortSignal.timeout(FIRST_MS),
    })
    .catch(() => {}); // the message about the call shows the decision
}

/** A press in a thread counts in its channel, as messages to threads do. */
function pressOf({
  id,
  guild_id: guild,
  channel_id: here,
  channel,
  member,
  user,
  message,
  data,
}: z.infer<typeof Interaction>): ButtonPress | null {
  const person = member?.user ?? user;
  if (person === undefined) return null;
  const isThread = channel !== undefined && THREADS.has(channel.type);
  const place = isThread ? (channel.parent_id ?? here) : here;
  return {
    target: guild === undefined ? { kind: "user", id: person.id } : { kind: "channel", id: place },
    messageId: message.id,
    personId: person.id,
    data: data.custom_id,
    pressId: id,
  };
}

/** https://docs.discord.com/developers/components/reference#button */
export function discordButtons(buttons: readonly MessageButton[]): object[] {
  const all = buttons.map(({ label, data }) => ({
    type: BUTTON,
    style: SECONDARY,
    label,
    custom_id: data,
  }));
  return Array.from({ length: Math.ceil(all.length / PER_ROW) }, (_, row) => ({
    type: ACTION_ROW,
    components: all.slice(row * PER_ROW, (row + 1) * PER_ROW),
  }));
}

/** A code block has no links, mentions or formatting; only the mark of its end has to be kept out. */
export function discordContent({
  text,
  verbatimFrom,
}: Pick<OutgoingMessage, "text" | "verbatimFrom">): string {
  if (verbatimFrom === undefined) return text;
  return `\`\`\`\n${cutText(text.replaceAll("```", "'''"), MAX_BLOCK)}\n\`\`\``;
}

function sentAt(id: string): number {
  return Number((BigInt(id) >> 22n) + EPOCH);
}
