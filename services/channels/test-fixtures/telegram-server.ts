// A server that speaks the Telegram Bot API, as far as a bot for conversations uses it.
import {
  type Fault,
  type ProviderAnswer,
  type ProviderRequest,
  readFields,
  startProviderHttp,
} from "./provider-http.ts";

type Json = Record<string, unknown>;

export interface TelegramCall {
  method: string;
  fields: Json;
}

export interface ShownMessage {
  chat: number;
  text: unknown;
  buttons: { text: string; data: string }[];
}

export type TelegramServer = Awaited<ReturnType<typeof startTelegramServer>>;

export async function startTelegramServer(token = "123456:telegram-secret-token") {
  let expired = false;
  let conflict = false;
  let nextUpdate = 1000;
  let nextMessage = 500;
  let nextQuery = 7_000;
  let confirmed = 0;
  let updates: Json[] = [];
  const calls: TelegramCall[] = [];
  /** The files that people sent, by their ids. */
  const files = new Map<string, Buffer>();
  const fetched: string[] = [];
  /** The messages that are there, as people see them now. */
  const shown = new Map<number, ShownMessage>();
  const queries = new Map<string, { answer: { text: string; isAlert: boolean } | null }>();
  const waiting = new Set<() => void>();
  const http = await startProviderHttp(handle);

  async function handle(request: ProviderRequest): Promise<ProviderAnswer> {
    const file = request.path.match(/^\/file\/bot([^/]+)\/documents\/(.+)\.bin$/);
    if (file) {
      fetched.push(file[2] ?? "");
      const bytes = file[1] === token ? files.get(file[2] ?? "") : undefined;
      return bytes ? { body: bytes } : { status: 404, body: refusal(404, "Not Found") };
    }
    const [, given, method = ""] = request.path.match(/^\/bot([^/]+)\/(\w+)$/) ?? [];
    if (given !== token || expired) return { status: 401, body: refusal(401, "Unauthorized") };
    const fields = await readFields(request);
    if (method !== "getUpdates") calls.push({ method, fields });
    return answer(method, fields);
  }

  async function answer(method: string, fields: Json): Promise<ProviderAnswer> {
    switch (method) {
      case "getMe":
        return done({ id: 1, is_bot: true, first_name: "Yard", username: "yard_bot" });
      case "getUpdates":
        return conflict
          ? { status: 409, body: refusal(409, "Conflict: terminated by other getUpdates request") }
          : done(await poll(Number(fields["offset"] ?? 0), Number(fields["timeout"] ?? 0)));
      case "sendMessage":
        if (String(fields["text"]).length > 4096)
          return { status: 400, body: refusal(400, "Bad Request: message is too long") };
        if (String(fields["chat_id"]) === "404")
          return { status: 400, body: refusal(400, "Bad Request: chat not found") };
        if (String(fields["chat_id"]) === "403")
          return { status: 403, body: refusal(403, "Forbidden: bot was blocked by the user") };
        return keyboardProblem(fields) ?? done(sent(fields));
      case "editMessageText":
        return edit(fields);
      case "answerCallbackQuery":
        return answerQuery(fields);
      case "sendDocument":
      case "sendPhoto":
        return done(sent(fields));
      case "getFile":
        return getFile(String(fields["file_id"]));
      case "getChat":
        return String(fields["chat_id"]) === "404"
          ? { status: 400, body: refusal(400, "Bad Request: chat not found") }
          : done({ id: -1001, type: "supergroup", title: "Team", username: "team" });
      default:
        return done(true);
    }
  }

  /** https://core.telegram.org/bots/api#getfile: bots can download up to 20 MB; the texts are those of the Bot API server (Client.cpp). */
  function getFile(id: string): ProviderAnswer {
    const bytes = files.get(id);
    const refused = (what: string) => ({ status: 400, body: refusal(400, `Bad Request: ${what}`) });
    if (bytes === undefined) return refused("wrong file_id or the file is temporarily unavailable");
    if (bytes.length > 20_000_000) return refused("file is too big");
    const facts = { file_id: id, file_unique_id: `u${id}`, file_size: bytes.length };
    return done({ ...facts, file_path: `documents/${id}.bin` });
  }

  /**
   * https://core.telegram.org/bots/api#inlinekeyboardbutton: 1-64 bytes of callback data. The text of the refusal is that of the Bot API
   * server (BUTTON_DATA_INVALID).
   */
  function keyboardProblem(fields: Json): ProviderAnswer | null {
    const isValid = buttonsOf(fields).every(({ text, data }) => {
      const bytes = Buffer.byteLength(data);
      return text.length > 0 && bytes > 0 && bytes <= 64;
    });
    return isValid ? null : { status: 400, body: refusal(400, "Bad Request: BUTTON_DATA_INVALID") };
  }

  /** https://core.telegram.org/bots/api#editmessagetext: a keyboard that is left out is removed; the same content is refused. */
  function edit(fields: Json): ProviderAnswer {
    const found = shown.get(Number(fields["message_id"]));
    if (found === undefined || String(found.chat) !== String(fields["chat_id"]))
      return { status: 400, body: refusal(400, "Bad Request: message to edit not found") };
    if (String(fields["text"]).length > 4096)
      return { status: 400, body: refusal(400, "Bad Request: MESSAGE_TOO_LONG") };
    const problem = keyboardProblem(fields);
    if (problem !== null) return problem;
    const buttons = buttonsOf(fields);
    if (found.text === fields["text"] && JSON.stringify(found.buttons) === JSON.stringify(buttons))
      return {
        status: 400,
        body: refusal(
          400,
          "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
        ),
      };
    Object.assign(found, { text: fields["text"], buttons });
    return done({ message_id: Number(fields["message_id"]) });
  }

  /** https://core.telegram.org/bots/api#answercallbackquery: 0-200 characters; a query is answered once and not after some time. */
  function answerQuery(fields: Json): ProviderAnswer {
    const id = String(fields["callback_query_id"]);
    const query = queries.get(id);
    if (query === undefined || query.answer !== null)
      return {
        status: 400,
        body: refusal(
          400,
          "Bad Request: query is too old and response timeout expired or query ID is invalid",
        ),
      };
    const text = typeof fields["text"] === "string" ? fields["text"] : "";
    if (text.length > 200)
      return { status: 400, body: refusal(400, "Bad Request: MESSAGE_TOO_LONG") };
    query.answer = { text, isAlert: isTrue(fields["show_alert"]) };
    return done(true);
  }

  /** Updates below `offset` are confirmed and removed; without a newer one the answer waits. */
  async function poll(offset: number, timeoutS: number): Promise<Json[]> {
    confirmed = Math.max(confirmed, offset);
    updates = updates.filter((update) => Number(update["update_id"]) >= offset);
    if (updates.length === 0 && timeoutS > 0)
      await new Promise<void>((wake) => {
        const timer = setTimeout(wake, timeoutS * 1000).unref();
        waiting.add(() => (clearTimeout(timer), wake()));
      });
    return updates.filter((update) => Number(update["update_id"]) >= offset);
  }

  function sent(fields: Json): Json {
    const id = Number(fields["chat_id"]);
    shown.set(nextMessage, { chat: id, text: fields["text"], buttons: buttonsOf(fields) });
    return {
      message_id: nextMessage++,
      date: 1_700_000_000,
      chat: { id, type: id < 0 ? "supergroup" : "private" },
      text: fields["text"],
    };
  }

  function deliver(update: Json, updateId: number): number {
    updates.push({ update_id: updateId, ...update });
    for (const wake of waiting) wake();
    waiting.clear();
    return updateId;
  }

  return {
    apiRoot: http.url,
    token,
    calls,
    files,
    shown,
    /**
     * Presses a button as a person does: https://core.telegram.org/bots/api#callbackquery. Returns the query's id and the answer that the
     * person sees. A forged press names data that the message does not have.
     */
    press(
      messageId: number,
      { from, data, chat }: { from: number; data: string; chat?: number },
    ): { id: string; answer: () => { text: string; isAlert: boolean } | null } {
      const id = String(nextQuery++);
      const query = { answer: null };
      queries.set(id, query);
      const place = chat ?? shown.get(messageId)?.chat ?? from;
      const type = place < 0 ? "supergroup" : "private";
      const update = {
        callback_query: {
          id,
          from: { id: from, is_bot: false, first_name: "Ada" },
          chat_instance: "1",
          message: { message_id: messageId, date: 1_700_000_000, chat: { id: place, type } },
          data,
        },
      };
      deliver(update, nextUpdate++);
      return { id, answer: () => query.answer };
    },
    /** The ids of the files whose content was requested. */
    fetched,
    failNext: (part: string, fault: Fault) => http.failNext(part, fault),
    /** The first update that was not confirmed yet. */
    confirmed: () => confirmed,
    /** Delivers an update; its number may be set, to deliver it twice. */
    push: (update: Json, updateId = nextUpdate++): number => deliver(update, updateId),
    message(fields: Json, text = "hello"): Json {
      return {
        message_id: nextMessage++,
        date: 1_700_000_000,
        chat: { id: 42, type: "private" },
        from: { id: 42, is_bot: false, first_name: "Ada", username: "ada" },
        text,
        ...fields,
      };
    },
    expireToken: () => void (expired = true),
    renewToken: () => void (expired = false),
    setConflict: (on: boolean) => void (conflict = on),
    async close() {
      for (const wake of waiting) wake();
      await http.close();
    },
  };
}

function done(result: unknown): ProviderAnswer {
  return { body: { ok: true, result } };
}

function refusal(code: number, description: string): Json {
  return { ok: false, error_code: code, description };
}

function buttonsOf(fields: Json): { text: string; data: string }[] {
  const markup = fields["reply_markup"];
  if (markup === undefined) return [];
  const { inline_keyboard: rows } = (typeof markup === "string" ? JSON.parse(markup) : markup) as {
    inline_keyboard: { text: string; callback_data: string }[][];
  }; // as the Bot API documents it
  return rows.flat().map(({ text, callback_data: data }) => ({ text, data }));
}

/** A field of a form is a text. */
function isTrue(value: unknown): boolean {
  return value === true || value === "true";
}
