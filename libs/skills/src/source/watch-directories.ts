import { statSync } from "node:fs";
import { awaitDirectories } from "./await-directories.ts";
import { fileWatches } from "./file-watches.ts";

export type DirectoryWatch = ReturnType<typeof watchDirectories>;

/** The watched directories. */
interface WatchedPlaces {
  /** Any change in one of them is reported. */
  readonly directories: readonly string[];
  /** They are not there yet; it is reported when they appear. */
  readonly missing: readonly string[];
}

export interface DirectoryWatchOptions {
  /** A burst of changes within this time is one change; one that does not end is reported after ten times as long. */
  readonly debounceMs: number;
  /** The delay after which a failed handler call is repeated. */
  readonly retryMs: number;
  /** Never runs twice at a time. */
  readonly onChange: () => Promise<void>;
  readonly onError: (error: unknown) => void;
}

const MOST_DEBOUNCES = 10;

/**
 * Calls back when something in one of the directories changes. Each directory has a watch of its own: a recursive one would also
 * follow all directories that the importer never enters.
 */
export function watchDirectories(options: DirectoryWatchOptions) {
  const watched = fileWatches(options.onError);
  let timer: NodeJS.Timeout | null = null;
  let handling: Promise<void> | null = null;
  let isChangeWaiting = false;
  /** The time of the first change that is not reported yet. */
  let changedAt: number | null = null;
  let isClosed = false;

  const awaitOnly = awaitDirectories({ onCome: changed, onError: options.onError });

  function changed(): void {
    changedAt ??= performance.now();
    const leftMs = changedAt + MOST_DEBOUNCES * options.debounceMs - performance.now();
    schedule(Math.min(options.debounceMs, Math.max(0, leftMs)));
  }

  function schedule(delayMs: number): void {
    if (isClosed) return;
    if (handling !== null) {
      isChangeWaiting = true;
      return;
    }
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      handling = handle();
    }, delayMs);
  }

  async function handle(): Promise<void> {
    isChangeWaiting = false;
    changedAt = null;
    let hasFailed = false;
    try {
      await options.onChange();
    } catch (error) {
      hasFailed = true;
      options.onError(error);
    }
    handling = null;
    if (hasFailed) schedule(options.retryMs);
    else if (isChangeWaiting) changed();
  }

  /** False when it is watched already or cannot be. */
  function watch(directory: string): boolean {
    const identity = identityOf(directory);
    // A directory that was deleted and made again has the old name, but the old watch is dead.
    return identity !== null && watched.add(directory, { identity, directory }, changed);
  }

  return {
    /** Watches these directories, which were not read yet: only later changes are reported. */
    begin({ directories, missing }: WatchedPlaces): void {
      for (const directory of directories) watch(directory);
      awaitOnly(missing);
    },
    /** Watches exactly these directories from now on. */
    update({ directories, missing }: WatchedPlaces): void {
      const wanted = new Set(directories);
      for (const directory of watched.paths())
        if (!wanted.has(directory)) watched.remove(directory);
      const added = directories.map((directory) => watch(directory));
      awaitOnly(missing);
      // Neither the scan nor the watch has seen changes made between the two.
      if (added.includes(true)) changed();
    },
    /** Ends the watch; waits for a change that is being handled. */
    async close(): Promise<void> {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      for (const directory of watched.paths()) watched.remove(directory);
      awaitOnly([]);
      await handling;
    },
  };
}

/** An inode's number is used again at once, so the time of birth belongs to it. */
function identityOf(directory: string): string | null {
  const facts = statSync(directory, { bigint: true, throwIfNoEntry: false });
  return facts === undefined ? null : `${facts.ino}:${facts.birthtimeNs}`;
}
