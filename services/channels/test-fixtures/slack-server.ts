// A server that speaks Slack's Web API and socket mode, as far as an app for conversations uses them.
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import {
  type Fault,
  type ProviderAnswer,
  type ProviderRequest,
  readFields,
  startProviderHttp,
} from "./provider-http.ts";

type Json = Record<string, unknown>;

export interface SlackCall {
  method: string;
  fields: Json;
}

interface SlackPress {
  readonly at: number;
  /** The time until it was acknowledged over the socket; after 3,000 the person sees a failure. */
  acknowledgedMs: number | null;
  uses: number;
  answer: { readonly text: string; readonly isEphemeral: boolean } | null;
}

export type SlackServer = Awaited<ReturnType<typeof startSlackServer>>;

export async function startSlackServer(
  tokens = { bot: "xoxb-slack-secret-bot", app: "xapp-slack-secret-app" },
) {
  let expired = false;
  let lacksScope = false;
  let nextTs = 1;
  let nextEvent = 1;
  let connections = 0;
  const calls: SlackCall[] = [];
  const messages: Json[] = [];
  const files = new Map<string, Buffer>();
  const acks = new Set<string>();
  const presses = new Map<string, SlackPress>();
  const sockets = new Set<WebSocket>();
  const http = await startProviderHttp(handle);
  const webSockets = new WebSocketServer({ server: http.server, path: "/link" });
  webSockets.on("connection", (socket) => {
    connections++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("message", (data) => {
      const ack = JSON.parse((data as Buffer).toString()) as Json;
      if (typeof ack["envelope_id"] !== "string") return;
      acks.add(ack["envelope_id"]);
      const press = presses.get(ack["envelope_id"]);
      if (press !== undefined) press.acknowledgedMs = Date.now() - press.at;
    });
    socket.send(JSON.stringify({ type: "hello", num_connections: 1 }));
  });

  async function handle(request: ProviderRequest): Promise<ProviderAnswer> {
    if (request.path.startsWith("/files/")) {
      const name = request.path.slice("/files/".length);
      if (request.method === "POST") return (files.set(name, request.body), { body: "OK" });
      // https://docs.slack.dev/reference/objects/file-object: without a token of the right scope the answer is a page for people.
      if (request.headers.authorization !== `Bearer ${tokens.bot}` || lacksScope)
        return { headers: { "content-type": "text/html" }, body: "<html>sign in</html>" };
      const bytes = files.get(name);
      return bytes ? { body: bytes } : { status: 404, body: "<html>not found</html>" };
    }
    if (request.path.startsWith("/actions/")) return respond(request);
    const method = request.path.replace(/^\/api\//, "");
    const fields = await readFields(request);
    const given = (request.headers.authorization ?? "").replace("Bearer ", "");
    const needed = method === "apps.connections.open" ? tokens.app : tokens.bot;
    if (given !== needed) return refuse("invalid_auth");
    if (expired) return refuse("token_expired");
    calls.push({ method, fields });
    return answer(method, fields);
  }

  /** https://docs.slack.dev/interactivity/handling-user-interaction#message_responses: up to 5 times within 30 minutes, without a token. */
  async function respond(request: ProviderRequest): Promise<ProviderAnswer> {
    const press = presses.get(request.path.slice("/actions/".length));
    if (press === undefined) return { status: 404, body: { ok: false, error: "expired_url" } };
    if (press.uses++ >= 5) return { status: 404, body: { ok: false, error: "used_url" } };
    const { response_type: kind, replace_original: replaces, text } = await readFields(request);
    press.answer = {
      text: String(text),
      isEphemeral: kind === "ephemeral" && replaces === false,
    };
    return { body: "ok" };
  }

  function answer(method: string, fields: Json): ProviderAnswer {
    switch (method) {
      case "auth.test":
        return accept({
          team_id: "T1",
          team: "Yard",
          user_id: "UBOT",
          user: "yard",
          bot_id: "BBOT",
        });
      case "apps.connections.open":
        return accept({ url: `${http.url.replace("http", "ws")}/link` });
      case "chat.postMessage": {
        if (fields["channel"] === "C404") return refuse("channel_not_found");
        if (fields["channel"] === "C403") return refuse("not_in_channel");
        const blocks = blocksOf(fields);
        if (blocks === null) return refuse("invalid_blocks");
        const ts = `1700000000.${String(nextTs++).padStart(6, "0")}`;
        const metadata =
          typeof fields["metadata"] === "string"
            ? (JSON.parse(fields["metadata"]) as Json)
            : undefined;
        const message = {
          type: "message",
          user: "UBOT",
          bot_id: "BBOT",
          text: fields["text"],
          blocks,
          ts,
          metadata,
          thread_ts: fields["thread_ts"],
        };
        messages.push({ channel: fields["channel"], ...message });
        return accept({ channel: fields["channel"], ts, message });
      }
      // https://docs.slack.dev/reference/methods/chat.update
      case "chat.update": {
        const found = messages.find(
          (one) => one["ts"] === fields["ts"] && one["channel"] === fields["channel"],
        );
        if (found === undefined) return refuse("message_not_found");
        const blocks = blocksOf(fields);
        if (blocks === null) return refuse("invalid_blocks");
        Object.assign(found, { text: fields["text"], blocks });
        return accept({ channel: fields["channel"], ts: fields["ts"] });
      }
      case "conversations.history":
      case "conversations.replies": {
        const found = messages.filter((one) => one["channel"] === fields["channel"]).toReversed();
        return accept({ messages: found, has_more: false });
      }
      case "conversations.info":
        return fields["channel"] === "C404"
          ? refuse("channel_not_found")
          : accept({ channel: { id: fields["channel"], name: "help" } });
      case "conversations.open":
        return accept({ channel: { id: `D${String(fields["users"]).slice(1)}` } });
      case "conversations.list":
        return accept({
          channels: [{ id: "C1", name: "help", is_channel: true }],
          response_metadata: { next_cursor: "" },
        });
      case "users.info":
        return accept({ user: { id: fields["user"], name: "ada", real_name: "Ada Lovelace" } });
      case "files.getUploadURLExternal":
        return accept({
          upload_url: `${http.url}/files/F${calls.length}`,
          file_id: `F${calls.length}`,
        });
      // https://docs.slack.dev/reference/methods/files.info
      case "files.info": {
        const id = String(fields["file"]);
        if (lacksScope) return accept({ ok: false, error: "missing_scope", needed: "files:read" });
        if (id === "FEXTERNAL")
          return accept({
            file: { id, is_external: true, url_private: "https://drive.example/x" },
          });
        if (id === "FELSEWHERE")
          return accept({ file: { id, url_private: "https://slack.com.example/x" } });
        if (!files.has(id)) return refuse("file_not_found");
        const url = `${http.url}/files/${id}`;
        return accept({
          file: { id, is_external: false, url_private: url, url_private_download: url },
        });
      }
      case "files.completeUploadExternal":
        return accept({ files: JSON.parse(String(fields["files"])) as unknown });
      default:
        return accept({});
    }
  }

  return {
    apiUrl: `${http.url}/api/`,
    fileUrl: (name: string) => `${http.url}/files/${name}`,
    port: (http.server.address() as AddressInfo).port,
    tokens,
    calls,
    messages,
    files,
    acks,
    connections: () => connections,
    connected: () => sockets.size,
    failNext: (part: string, fault: Fault) => http.failNext(part, fault),
    /** Delivers an event in an envelope; with the same `eventId` it is the same event again. Returns the envelope's id. */
    push(event: Json, eventId = `Ev${nextEvent++}`): string {
      const envelope = `env-${nextEvent++}`;
      const payload = { team_id: "T1", event_id: eventId, type: "event_callback", event };
      const data = JSON.stringify({
        envelope_id: envelope,
        type: "events_api",
        retry_attempt: 0,
        retry_reason: "",
        payload,
      });
      for (const socket of sockets) socket.send(data);
      return envelope;
    },
    /**
     * Presses a button as a person does. A forged press names a value that the message does not have. Returns the payload, which comes
     * over the socket unless it is sent by `isHttp`, and what the person sees.
     */
    press(
      ts: string,
      {
        from,
        value,
        channel,
        isHttp = false,
      }: { from: string; value: string; channel?: string; isHttp?: boolean },
    ) {
      const id = `press-${nextEvent++}`;
      const press: SlackPress = { at: Date.now(), acknowledgedMs: null, uses: 0, answer: null };
      presses.set(id, press);
      const place = channel ?? messages.find((one) => one["ts"] === ts)?.["channel"];
      const payload = {
        type: "block_actions",
        team: { id: "T1" },
        user: { id: from, username: "ada", team_id: "T1" },
        api_app_id: "A1",
        trigger_id: `1.${id}`,
        container: { type: "message", message_ts: ts, channel_id: place, is_ephemeral: false },
        channel: { id: place, name: "directmessage" },
        response_url: `${http.url}/actions/${id}`,
        actions: [
          {
            type: "button",
            action_id: "decide-0",
            block_id: "b",
            value,
            action_ts: `1700000002.${String(nextTs++).padStart(6, "0")}`,
          },
        ],
      };
      const data = JSON.stringify({
        envelope_id: id,
        type: "interactive",
        accepts_response_payload: true,
        payload,
      });
      if (!isHttp) for (const socket of sockets) socket.send(data);
      return { payload, answer: () => press.answer, acknowledgedMs: () => press.acknowledgedMs };
    },
    message: (fields: Json, text = "hello"): Json => ({
      type: "message",
      channel: "D1",
      channel_type: "im",
      user: "U1",
      text,
      ts: `1700000001.${String(nextTs++).padStart(6, "0")}`,
      ...fields,
    }),
    /** Requests that the client reconnects, as Slack does every few hours. */
    refresh(): void {
      for (const socket of sockets)
        socket.send(JSON.stringify({ type: "disconnect", reason: "refresh_requested" }));
    },
    dropSockets(): void {
      for (const socket of sockets) socket.terminate();
    },
    /** Takes the scope files:read from the app. */
    takeScope: () => void (lacksScope = true),
    expireToken: () => void (expired = true),
    renewToken: () => void (expired = false),
    async close() {
      for (const socket of sockets) socket.terminate();
      webSockets.close();
      await http.close();
    },
  };
}

/**
 * Null for blocks that Slack refuses: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block,
 * https://docs.slack.dev/reference/block-kit/block-elements/button-element: texts up to 75 characters, values up to 2,000, ids up to 255
 * and each once in its block.
 */
function blocksOf(fields: Json): Json[] | null {
  const given = fields["blocks"] ?? [];
  const blocks = (typeof given === "string" ? JSON.parse(given) : given) as Json[];
  const isValid = blocks.every(({ type, elements }) => {
    const parts = elements as Json[];
    if (parts.length === 0) return false;
    if (type === "rich_text")
      return parts.every(
        (part) =>
          ["rich_text_section", "rich_text_preformatted"].includes(String(part["type"])) &&
          (part["elements"] as Json[]).every(
            ({ type: kind, text }) => kind === "text" && typeof text === "string" && text !== "",
          ),
      );
    const ids = parts.map((part) => String(part["action_id"]));
    return (
      type === "actions" &&
      parts.length <= 25 &&
      new Set(ids).size === ids.length &&
      parts.every(
        ({ type: kind, text, value, action_id: id }) =>
          kind === "button" &&
          (text as Json)["type"] === "plain_text" &&
          String((text as Json)["text"]).length <= 75 &&
          String(value).length <= 2_000 &&
          String(id).length <= 255,
      )
    );
  });
  return isValid ? blocks : null;
}

function accept(fields: Json): ProviderAnswer {
  return { body: { ok: true, ...fields } };
}

function refuse(error: string): ProviderAnswer {
  return { body: { ok: false, error } };
}
