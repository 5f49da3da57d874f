import type { RunDetail, StopScope } from "@switchyard/client/operations";

/** `850 ms`, `3.2 s`, `4 min 5 s`, `3 h 20 min`. */
export function durationText(ms: number): string {
  if (ms < 1) return "< 1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `12 s ago`, `in 3 min`. */
export function relativeText(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  const size = Math.abs(ms);
  if (size < 2_000) return "now";
  const text =
    size < 60_000
      ? `${Math.floor(size / 1_000)} s`
      : size < 3_600_000
        ? `${Math.floor(size / 60_000)} min`
        : size < 172_800_000
          ? `${Math.floor(size / 3_600_000)} h`
          : `${Math.floor(size / 86_400_000)} d`;
  return ms > 0 ? `${text} ago` : `in ${text}`;
}

export function absoluteText(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** `1 run`, `3 runs`. */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${numberText(n)} ${n === 1 ? one : many}`;
}

/** `1,000 in (970 from the cache), 20 out`. */
export function tokensText({ inputTokens, outputTokens, cacheReadTokens = 0 }: Usage): string {
  const cached = cacheReadTokens === 0 ? "" : ` (${numberText(cacheReadTokens)} from the cache)`;
  return `${numberText(inputTokens)} in${cached}, ${numberText(outputTokens)} out`;
}

type Usage = Pick<RunDetail["usage"], "inputTokens" | "outputTokens" | "cacheReadTokens">;

export function numberText(n: number): string {
  return n.toLocaleString("en");
}

/** In US dollars; small amounts with their significant digits, large ones without cents. */
export function usdText(usd: number): string {
  if (usd === 0) return "$0";
  if (usd < 0.01) return `$${usd.toPrecision(2)}`;
  return usd < 1_000 ? `$${usd.toFixed(2)}` : `$${numberText(Math.round(usd))}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KiB`;
  if (bytes < 1_073_741_824) return `${(bytes / 1_048_576).toFixed(1)} MiB`;
  return `${(bytes / 1_073_741_824).toFixed(1)} GiB`;
}

/** Indented JSON. Text that is not JSON stays as it is. */
export function prettyJson(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value, null, 2) ?? "";
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

/** A word for a shell, quoted where it needs to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The part of a name behind the owner: `cli~order-1` is `order-1`. */
export function shortRunId(runId: string): string {
  return runId.slice(runId.indexOf("~") + 1);
}

/** The object of a stop: `all calls`, `agent reviewer`. */
export function scopeText(scope: StopScope): string {
  return scope.kind === "all" ? "all calls" : `${scope.kind} ${scope.name}`;
}
