import { existsSync } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { fileWatches } from "./file-watches.ts";

/**
 * Tells when a directory comes, or the next one on the way to it. Of the directory that is there already only
 * the name of that next one is listened to: it may be a person's home, where something changes all the time.
 * The function that it returns says which are waited for from then on; call it again after each step that was reported.
 */
export function awaitDirectories(options: {
  readonly onCome: () => void;
  readonly onError: (error: unknown) => void;
}): (paths: readonly string[]) => void {
  const waits = fileWatches(options.onError);

  function add(path: string): void {
    const parent = nearestDirectory(path);
    const [next = ""] = relative(parent, path).split(sep);
    const isNew = waits.add(path, { identity: parent, directory: parent }, (name) => {
      if (name === null || name === next) options.onCome();
    });
    // It may have come before the watch began.
    if (isNew && (existsSync(path) || nearestDirectory(path) !== parent)) options.onCome();
  }

  return (paths) => {
    for (const path of waits.paths()) if (!paths.includes(path)) waits.remove(path);
    for (const path of paths) add(path);
  };
}

function nearestDirectory(path: string): string {
  let at = dirname(path);
  while (at !== dirname(at) && !existsSync(at)) at = dirname(at);
  return at;
}
