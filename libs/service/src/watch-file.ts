import { watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";

export interface FileWatch {
  close(): void;
}

/** Editors write in several steps; a text counts when it was read twice, this far apart. */
const SETTLED_MS = 100;

/**
 * Watches a small text file and reports each new text once, `null` when the file cannot be read. The directory is watched, not the file:
 * editors and Kubernetes replace the file.
 */
export function watchFile(options: {
  path: string;
  /** The text that was read before. */
  known: string;
  onText: (text: string | null) => void;
  onTrouble: (error: unknown) => void;
}): FileWatch {
  const { path, onText, onTrouble } = options;
  let known: string | null = options.known;
  let candidate: string | null | undefined;
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;

  const readAgain = (): void => {
    if (isClosed) return;
    // A later change does not postpone the look: another file of the directory may change all the time.
    timer ??= setTimeout(() => void look(), SETTLED_MS);
  };
  const look = async (): Promise<void> => {
    timer = null;
    const text = await readFile(path, "utf8").catch(() => null);
    if (isClosed) return;
    if (text === known) {
      candidate = undefined;
      return;
    }
    if (text !== candidate) {
      candidate = text;
      readAgain();
      return;
    }
    candidate = undefined;
    known = text;
    onText(text);
  };

  const watcher = watchDirectory();
  // Reads a text that was written between the first reading and the watch.
  readAgain();
  return {
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      watcher?.close();
    },
  };

  function watchDirectory() {
    try {
      const made = watch(dirname(path), readAgain);
      made.on("error", onTrouble);
      return made;
    } catch (error) {
      onTrouble(error); // no more watches allowed, or a file system without them
      return null;
    }
  }
}
