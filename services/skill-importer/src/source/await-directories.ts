import { existsSync, watch, type FSWatcher } from "node:fs";
import { dirname, relative, sep } from "node:path";

/**
 * Tells when a directory comes, or the next one on the way to it. Of the directory that is there already only
 * the name of that next one is listened to: it may be a person's home, where something changes all the time.
 * The function that it returns says which are waited for from then on; call it again after each step that was reported.
 */
export function awaitDirectories(options: {
  readonly onCome: () => void;
  readonly onError: (error: unknown) => void;
}): (paths: readonly string[]) => void {
  const waits = new Map<string, { parent: string; watcher: FSWatcher }>();

  function add(path: string): void {
    const parent = nearestDirectory(path);
    if (waits.get(path)?.parent === parent) return;
    remove(path);
    const [next = ""] = relative(parent, path).split(sep);
    try {
      const watcher = watch(parent, { persistent: false }, (_, name) => {
        if (name === null || name === next) options.onCome();
      });
      watcher.on("error", options.onError);
      waits.set(path, { parent, watcher });
    } catch (error) {
      options.onError(error);
      return;
    }
    // It may have come before the watch began.
    if (existsSync(path) || nearestDirectory(path) !== parent) options.onCome();
  }

  function remove(path: string): void {
    waits.get(path)?.watcher.close();
    waits.delete(path);
  }

  return (paths) => {
    for (const path of waits.keys()) if (!paths.includes(path)) remove(path);
    for (const path of paths) add(path);
  };
}

function nearestDirectory(path: string): string {
  let at = dirname(path);
  while (at !== dirname(at) && !existsSync(at)) at = dirname(at);
  return at;
}
