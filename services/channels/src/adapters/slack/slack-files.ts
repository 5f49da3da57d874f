import type { OutgoingAttachment } from "../adapter.ts";
import { ChannelError } from "../adapter.ts";

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
