import { useEffect, useState } from "preact/hooks";

/** A person has at least this long to see what a decision is about. */
const SEEN_AFTER_MS = 500;

/** True when the object of `key` has been in sight for half a second; not while the page is hidden. */
export function useSeen(key: string): boolean {
  const [seen, setSeen] = useState<string | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      clearTimeout(timer);
      setSeen(null);
      if (document.visibilityState === "visible")
        timer = setTimeout(() => setSeen(key), SEEN_AFTER_MS);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [key]);
  return seen === key;
}
