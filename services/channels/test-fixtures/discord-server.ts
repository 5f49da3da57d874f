// A server that speaks Discord's HTTP API and gateway (version 10), as far as a bot for conversations uses them.
import assert from "node:assert/strict";
import { WebSocketServer, type WebSocket } from "ws";
import {
  type Fault,
  type ProviderAnswer,
  type ProviderRequest,
  readFields,
  startProviderHttp,
} from "./provider-http.ts";

type Json = Record<string, unknown>;

export interface DiscordCall {
  method: string;
  path: string;
  fields: Json;
}

interface DiscordPress {
  readonly id: string;
  readonly at: number;
  type: number | null;
  isEphemeral: boolean;
  text: string | null;
}

export type DiscordServer = Awaited<ReturnType<typeof startDiscordServer>>;

export async function startDiscordServer(token = "discord-secret-token") {
  let expired = false;
  let nextId = 9_000_000_000_000_001n;
  let seq = 0;
  let sessions = 0;
  let identifies = 0;
  let resumes = 0;
  let resumable = true;
  const calls: DiscordCall[] = [];
  const messages: Json[] = [];
  const files = new Map<string, Buffer>();
  const dispatched: { s: number; t: string; d: Json }[] = [];
  /** The channels with one person each. */
  const direct = new Set<string>();
  const presses = new Map<string, DiscordPress>();
  const sockets = new Set<WebSocket>();
  const ready = new Set<WebSocket>();
  const http = await startProviderHttp(handle);
  const gatewayUrl = `${http.url.replace("http", "ws")}/gateway`;
  const gateway = new WebSocketServer({ noServer: true });
  http.server.on("upgrade", (request, socket, head) =>
    gateway.handleUpgrade(request, socket, head, (webSocket) => serveSocket(webSocket)),
  );

  function serveSocket(socket: WebSocket): void {
    sockets.add(socket);
    socket.on("close", () => (sockets.delete(socket), ready.delete(socket)));
    const send = (packet: Json) => socket.send(JSON.stringify(packet));
    send({ op: 10, d: { heartbeat_interval: 41_250 }, s: null, t: null });
    socket.on("message", (data) => {
      const { op, d } = JSON.parse((data as Buffer).toString()) as { op: number; d: Json };
      if (op === 1) return send({ op: 11, d: null, s: null, t: null });
      if (op !== 2 && op !== 6) return;
      if (expired || d["token"] !== token) return socket.close(4004, "Authentication failed.");
      if (op === 6) {
        resumes++;
        if (!resumable) return send({ op: 9, d: false, s: null, t: null });
        ready.add(socket);
        for (const event of dispatched) if (event.s > Number(d["seq"])) send({ op: 0, ...event });
        return send({ op: 0, t: "RESUMED", s: seq, d: {} });
      }
      identifies++;
      resumable = true;
      ready.add(socket);
      send({
        op: 0,
        t: "READY",
        s: ++seq,
        d: {
          v: 10,
          user: { id: "1", username: "yard", bot: true },
          guilds: [],
          session_id: `session-${++sessions}`,
          resume_gateway_url: gatewayUrl,
          application: { id: "1", flags: 0 },
        },
      });
    });
  }

  async function handle(request: ProviderRequest): Promise<ProviderAnswer> {
    const path = request.path.replace("/api/v10/", "");
    // https://docs.discord.com/developers/reference#signed-attachment-cdn-urls: the signature is in the query, and an old one is 404.
    if (path.startsWith("/files/")) {
      const bytes = request.query.has("hm") ? files.get(path.slice("/files/".length)) : undefined;
      assert.equal(request.headers.authorization, undefined, "a token is sent to the API alone");
      return bytes
        ? { body: bytes }
        : { status: 404, body: "This content is no longer available." };
    }
    const interaction = path.match(/^interactions\/(\d+)\/([^/]+)\/callback$/);
    if (interaction) return acknowledge(interaction[1], interaction[2], await readFields(request));
    const original = path.match(/^webhooks\/1\/([^/]+)\/messages\/@original$/);
    if (original) return answerPress(original[1], await readFields(request));
    if (expired || request.headers.authorization !== `Bot ${token}`)
      return { status: 401, body: { message: "401: Unauthorized", code: 0 } };
    const raw = await readFields(request);
    const fields =
      typeof raw["payload_json"] === "string"
        ? { ...(JSON.parse(raw["payload_json"]) as Json), ...raw }
        : raw;
    calls.push({ method: request.method, path, fields });
    return answer(request, path, fields);
  }

  function answer(request: ProviderRequest, path: string, fields: Json): ProviderAnswer {
    if (path === "gateway/bot")
      return {
        body: {
          url: gatewayUrl,
          shards: 1,
          session_start_limit: { total: 1000, remaining: 999, reset_after: 0, max_concurrency: 1 },
        },
      };
    if (path === "users/@me") return { body: { id: "1", username: "yard", bot: true } };
    if (path === "users/@me/channels") {
      const id = `7${String(fields["recipient_id"])}`;
      direct.add(id);
      return { body: { id, type: 1 } };
    }
    const channel = path.match(/^channels\/(\d+)$/)?.[1];
    if (channel)
      return channel === "404"
        ? unknown()
        : { body: { id: channel, type: 0, name: "help", guild_id: "5" } };
    const list = path.match(/^channels\/(\d+)\/messages$/)?.[1];
    if (list === "404") return unknown();
    if (list === "403") return { status: 403, body: { message: "Missing Access", code: 50_001 } };
    if (list && request.method === "POST")
      return formProblem(fields) ?? { body: post(list, fields) };
    if (list) {
      const after = BigInt(request.query.get("after") ?? "0");
      const found = messages.filter(
        (one) => one["channel_id"] === list && BigInt(String(one["id"])) > after,
      );
      return { body: found.slice(0, Number(request.query.get("limit") ?? 50)).toReversed() };
    }
    const edited = path.match(/^channels\/(\d+)\/messages\/(\d+)$/);
    if (edited && request.method === "PATCH") {
      const found = messages.find(
        (one) => one["channel_id"] === edited[1] && one["id"] === edited[2],
      );
      if (found === undefined)
        return { status: 404, body: { message: "Unknown Message", code: 10_008 } };
      if ((found["author"] as Json)["id"] !== "1") return notOwn();
      const problem = formProblem(fields);
      if (problem === null) Object.assign(found, fields);
      return problem ?? { body: found };
    }
    if (/^channels\/\d+\/messages\/\d+\/threads$/.test(path))
      return { body: { id: String(nextId++), type: 11 } };
    return { status: 204 };
  }

  /**
   * https://docs.discord.com/developers/interactions/receiving-and-responding: a first response within 3 s, once and without the bot's
   * token. The codes are those of https://docs.discord.com/developers/topics/opcodes-and-status-codes#json.
   */
  function acknowledge(id?: string, given?: string, { type, data }: Json = {}): ProviderAnswer {
    const press = presses.get(given ?? "");
    if (press === undefined || press.id !== id || Date.now() - press.at > 3_000)
      return { status: 404, body: { message: "Unknown interaction", code: 10_062 } };
    if (press.type !== null)
      return {
        status: 400,
        body: { message: "Interaction has already been acknowledged.", code: 40_060 },
      };
    if (type !== 4 && type !== 5) return formProblem({ content: "" }) ?? unknown();
    Object.assign(press, { type, isEphemeral: (data as Json | undefined)?.["flags"] === 64 });
    return { status: 204 };
  }

  /** https://docs.discord.com/developers/interactions/receiving-and-responding#edit-original-interaction-response */
  function answerPress(given?: string, fields: Json = {}): ProviderAnswer {
    const press = presses.get(given ?? "");
    if (press === undefined || press.type === null)
      return { status: 404, body: { message: "Unknown Webhook", code: 10_015 } };
    const problem = formProblem(fields);
    if (problem === null) press.text = String(fields["content"]);
    return problem ?? { body: { id: String(nextId++) } };
  }

  /** With enforce_nonce a message of the same nonce is not created again: the earlier one is returned. */
  function post(channel: string, fields: Json): Json {
    const earlier = messages.find(
      (one) => fields["enforce_nonce"] === true && one["nonce"] === fields["nonce"],
    );
    if (earlier) return earlier;
    const message = inbound(
      {
        channel_id: channel,
        author: { id: "1", username: "yard", bot: true },
        nonce: fields["nonce"],
        components: fields["components"] ?? [],
      },
      fields["content"] as string,
    );
    messages.push(message);
    return message;
  }

  function inbound(fields: Json, content = "hello"): Json {
    return {
      id: String(nextId++),
      channel_id: "100",
      author: { id: "42", username: "ada", global_name: "Ada" },
      content,
      timestamp: "2026-11-23T10:00:00.000000+00:00",
      mentions: [],
      attachments: [],
      embeds: [],
      type: 0,
      ...fields,
    };
  }

  return {
    api: `${http.url}/api`,
    files,
    fileUrl: (name: string) => `${http.url}/files/${name}?ex=1&is=1&hm=1`,
    token,
    calls,
    messages,
    failNext: (part: string, fault: Fault) => http.failNext(part, fault),
    message: inbound,
    connected: () => ready.size,
    identifies: () => identifies,
    resumes: () => resumes,
    /** Adds a message of a user; with `silently` the bot is away, so that it is only in the history. */
    push(message: Json, { silently = false, type = "MESSAGE_CREATE" } = {}): void {
      if (type === "MESSAGE_CREATE" && !messages.includes(message)) messages.push(message);
      if (silently) return;
      const event = { s: ++seq, t: type, d: message };
      dispatched.push(event);
      for (const socket of ready) socket.send(JSON.stringify({ op: 0, ...event }));
    },
    /**
     * Presses a button as a person does: https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object.
     * A forged press names data that the message does not have. Returns the answer that the person sees.
     */
    press(
      messageId: string,
      { from, data, channel }: { from: string; data: string; channel?: string },
    ): () => { text: string; isEphemeral: boolean } | null {
      const now = Date.now();
      const pressToken = `interaction-token-${nextId++}`;
      const id = String((BigInt(now) - 1_420_070_400_000n) * 4_194_304n + (nextId % 4_096n));
      const press: DiscordPress = { id, at: now, type: null, isEphemeral: false, text: null };
      presses.set(pressToken, press);
      const message = messages.find((one) => one["id"] === messageId);
      const place = channel ?? String(message?.["channel_id"]);
      const user = { id: from, username: "ada" };
      const isDirect = direct.has(place);
      this.push(
        {
          id,
          application_id: "1",
          type: 3,
          token: pressToken,
          version: 1,
          channel_id: place,
          channel: { id: place, type: isDirect ? 1 : 0 },
          ...(isDirect ? { user } : { guild_id: "5", member: { user } }),
          message: { id: messageId },
          data: { component_type: 2, custom_id: data },
        },
        { type: "INTERACTION_CREATE" },
      );
      return () =>
        press.text === null ? null : { text: press.text, isEphemeral: press.isEphemeral };
    },
    /** Sends a text that may be no packet. */
    sendText(text: string): void {
      for (const socket of ready) socket.send(text);
    },
    /** Ends the connection; without `canResume` the session is gone, too. */
    drop({ canResume = true } = {}): void {
      resumable = canResume;
      for (const socket of sockets) socket.close(4000, "try again");
    },
    expireToken: () => void (expired = true),
    renewToken: () => void (expired = false),
    async close() {
      for (const socket of sockets) socket.terminate();
      gateway.close();
      await http.close();
    },
  };
}

function notOwn(): ProviderAnswer {
  const message = "Cannot edit a message authored by another user";
  return { status: 403, body: { message, code: 50_005 } };
}

/**
 * https://docs.discord.com/developers/resources/message#create-message: content up to 2,000 characters;
 * https://docs.discord.com/developers/components/reference: 5 buttons in a row, labels up to 80, ids of 1-100 characters, each once.
 */
function formProblem({ content = " ", components = [] }: Json): ProviderAnswer | null {
  const rows = components as { type: number; components: Json[] }[];
  const buttons = rows.flatMap((row) => row.components);
  const ids = buttons.map((button) => String(button["custom_id"]));
  const isValid =
    String(content).length <= 2_000 &&
    content !== "" &&
    rows.every(
      (row) => row.type === 1 && row.components.length >= 1 && row.components.length <= 5,
    ) &&
    buttons.every(
      ({ type, style, label, custom_id: id }) =>
        type === 2 &&
        [1, 2, 3, 4].includes(Number(style)) &&
        String(label).length <= 80 &&
        String(id).length >= 1 &&
        String(id).length <= 100,
    ) &&
    new Set(ids).size === ids.length;
  return isValid ? null : { status: 400, body: { message: "Invalid Form Body", code: 50_035 } };
}

function unknown(): ProviderAnswer {
  return { status: 404, body: { message: "Unknown Channel", code: 10_003 } };
}
