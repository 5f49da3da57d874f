/** `640 B`, `1.2 KB`, `3.4 MB`: decimal units, as network tools show them. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let value = bytes / 1_000;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}

/** `0.4 ms`, `12 ms`, `3.2 s`, `4 min 05 s`. */
export function formatDuration(ms: number): string {
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** `$0`, `$12.30`, `$0.042`, `$0.000120`: an amount of US dollars, small ones with their digits. */
export function formatUsd(usd: number): string {
  if (usd === 0) return "$0";
  if (usd >= 1) return `$${usd.toFixed(2)}`;
  return `$${usd.toFixed(usd >= 0.01 ? 3 : 6)}`;
}

/** `1 tool`, `14 tools`; irregular plurals are given. */
export function count(amount: number, noun: string, plural = `${noun}s`): string {
  return `${amount} ${amount === 1 ? noun : plural}`;
}

/** The options for times in lists. */
export interface Times {
  /** True: times in full in place of ages. */
  readonly wide?: true | undefined;
}

/** The time since `at`, such as `3m`, `5h` or `2d`, or the time until it, such as `in 3m`; with `wide`, the time itself. */
export function timeText(at: string, { wide }: Times, nowMs: number = Date.now()): string {
  const ms = nowMs - Date.parse(at);
  if (wide === true || Number.isNaN(ms)) return at;
  const age = ageText(Math.abs(ms));
  return ms < 0 ? `in ${age}` : age;
}

function ageText(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
