import { z } from "zod";
import type { OutgoingAttachment } from "../adapter.ts";
import { ChannelError } from "../adapter.ts";
import { fetchFile, providerUrl } from "../fetch-file.ts";
import type { SlackConfig } from "./slack-config.ts";

export type AskSlack = (
  method: string,
  fields: Record<string, unknown>,
) => Promise<Record<string, unknown>>;

/** Uploads a file and shares it. Only the last of the three requests makes it visible, so before it nothing was sent. */
export async function shareFile(
  ask: AskSlack,
  file: OutgoingAttachment,
  place: { readonly channel_id: string; readonly thread_ts?: string },
  signal: AbortSignal,
): Promise<string> {
  const id = await upload(ask, file, signal).catch((error: unknown) => {
    if (error instanceof ChannelError && error.code !== "timeout_unknown") throw error;
    throw new ChannelError(
      "provider_error",
      `Slack did not take the file ${file.name}; nothing was sent.`,
      { cause: error },
    );
  });
  await ask("files.completeUploadExternal", { files: [{ id, title: file.name }], ...place });
  return id;
}

async function upload(
  ask: AskSlack,
  file: OutgoingAttachment,
  signal: AbortSignal,
): Promise<string> {
  const slot = await ask("files.getUploadURLExternal", {
    filename: file.name,
    length: file.bytes.byteLength,
  });
  const { upload_url: url, file_id: id } = slot as { upload_url: string; file_id: string };
  const answer = await fetch(url, { method: "POST", body: new Uint8Array(file.bytes), signal });
  await answer.body?.cancel();
  if (!answer.ok)
    throw new ChannelError(
      "provider_error",
      `Slack did not take the file ${file.name} (status ${answer.status}).`,
    );
  return id;
}

/** https://docs.slack.dev/reference/objects/file-object: `is_external` is a file of another service, of which Slack has a link alone. */
const SharedFile = z.object({
  file: z.object({
    is_external: z.boolean().nullish(),
    url_private: z.string().nullish(),
    url_private_download: z.string().nullish(),
  }),
});

/** Slack's own hosts, which alone get the token. */
const FILE_HOSTS = [".slack.com", ".slack-gov.com"];

/**
 * Loads a file that a person shared, by its id: the event of a file from another workspace has no address in it
 * (https://docs.slack.dev/apis/slack-connect/#files), and the request names the scope that the app lacks.
 */
export async function loadSharedFile(
  ask: AskSlack,
  { botToken, apiUrl }: Pick<SlackConfig, "botToken" | "apiUrl">,
  wanted: { readonly id: string; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Uint8Array> {
  const { id, maxBytes, signal } = wanted;
  const info = SharedFile.safeParse(await ask("files.info", { file: id }));
  const file = info.success ? info.data.file : {};
  const source = file.url_private_download ?? file.url_private;
  if (file.is_external === true || !source)
    throw new ChannelError("unsupported", "Slack does not store it: it is at another service");
  const url = providerUrl(source, { hosts: FILE_HOSTS, origin: apiUrl });
  const headers = { authorization: `Bearer ${botToken}` };
  const { bytes, mediaType } = await fetchFile(url, { headers, maxBytes, signal });
  // Slack's answer to a token without rights is its page for people, with status 200.
  if (mediaType === "text/html" && !/\.html?$/i.test(url.pathname))
    throw new ChannelError(
      "not_allowed",
      "Slack answers with its sign-in page; give the app the scope files:read",
    );
  return bytes;
}
