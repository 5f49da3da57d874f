import type { FilePart } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { bytesText } from "../core/format.ts";
import { client, problemOf } from "../core/session.ts";
import { toast } from "../core/toasts.ts";

/** A file that a person adds to a message. */
export interface AttachedFile {
  readonly id: string;
  readonly name: string;
  readonly sizeBytes: number;
  /** A data URL of a small image; the page's policy permits no other kind. */
  readonly preview: string | null;
  /** Null while the file is being stored. */
  readonly part: FilePart | null;
}

/** Larger images are shown by their names alone. */
const MOST_PREVIEW_BYTES = 2 * 1_024 ** 2;

/** The files of the message that is being written. */
export function useAttachedFiles() {
  const [files, setFiles] = useState<readonly AttachedFile[]>([]);
  const attach = async (given: Iterable<File>): Promise<void> => {
    await Promise.all(
      [...given].map(async (file) => {
        const id = crypto.randomUUID();
        const added = { id, name: nameOf(file), sizeBytes: file.size, preview: null, part: null };
        setFiles((all) => [...all, added]);
        const [part, preview] = await Promise.all([storeFile(file), previewOf(file)]);
        const stored = part === null ? [] : [{ ...added, part, preview }];
        setFiles((all) => all.flatMap((one) => (one.id === id ? stored : [one])));
      }),
    );
  };
  return { files, setFiles, attach };
}

/** The same as chips that can be removed. */
export function AttachedFiles(props: {
  files: readonly AttachedFile[];
  onChange: (files: readonly AttachedFile[]) => void;
}) {
  const { files, onChange } = props;
  return (
    <FileChips
      files={files.map(({ id, name, sizeBytes, preview, part }) => ({
        name,
        sizeBytes,
        preview,
        isStored: part !== null,
        onRemove: () => onChange(files.filter((one) => one.id !== id)),
      }))}
    />
  );
}

async function previewOf(file: File): Promise<string | null> {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(file.type) || file.size > MOST_PREVIEW_BYTES)
    return null;
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener("load", () =>
      resolve(typeof reader.result === "string" ? reader.result : null),
    );
    reader.addEventListener("error", () => resolve(null));
    reader.readAsDataURL(file);
  });
}

/** Stores the file; null when it was refused, which a toast explains. */
async function storeFile(file: File): Promise<FilePart | null> {
  const query = { name: nameOf(file), ...(file.type !== "" && { mediaType: file.type }) };
  try {
    return (await client.request("POST /files", { query, attachment: file })).file;
  } catch (error) {
    toast({ text: `${file.name} is not attached: ${problemOf(error).detail}`, tone: "bad" });
    return null;
  }
}

/** An image from the clipboard may have no name. */
function nameOf({ name, type }: File): string {
  return name === "" ? `pasted.${type.split("/")[1] ?? "txt"}` : name;
}

interface Shown {
  readonly name: string;
  readonly sizeBytes: number;
  readonly preview?: string | null;
  readonly isStored?: boolean;
  readonly onRemove?: () => void;
}

/** Files of a message. Their names are foreign text. */
export function FileChips({ files }: { files: readonly Shown[] }) {
  if (files.length === 0) return null;
  return (
    <ul class="chips" aria-label="Files">
      {files.map(({ name, sizeBytes, preview, isStored, onRemove }, at) => (
        <li key={`${at} ${name}`} class="chip" data-testid="file-chip">
          {typeof preview === "string" && <img src={preview} alt="" />}
          <span class="clip">{name}</span>
          <span class="quiet">{isStored === false ? "storing…" : bytesText(sizeBytes)}</span>
          {onRemove !== undefined && (
            <button
              type="button"
              class="chip-remove"
              aria-label={`Remove ${name}`}
              onClick={onRemove}
            >
              ×
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
