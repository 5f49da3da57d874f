/** Drawn on a square of 16 with a line of 1.5. */
const PATHS = {
  overview: "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z",
  runs: "M4 2.5v11l9-5.5z",
  needs: "M2 9h3.5l1 2h3l1-2H14M2 9l2-6h8l2 6v4H2z",
  chat: "M2 3h12v8H7l-3 3v-3H2z",
  schedules: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.5V8l2.5 1.5",
  channels: "M2 4h12v8H2zM2 4l6 5 6-5",
  webhooks: "M6 3 2 8l4 5M10 3l4 5-4 5",
  agents: "M8 2a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM3 14c0-3 2-5 5-5s5 2 5 5",
  skills: "M3 2h8l2 2v10H3zM6 6h5M6 9h5",
  tools: "M10 2a4 4 0 0 0-3.7 5.5L2 11.8 4.2 14l4.3-4.3A4 4 0 0 0 13.8 5L11.5 7 9 4.5 11 2.2z",
  servers: "M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.1M4.5 11h.1",
  policy: "M8 2 3 4v4c0 3 2 5 5 6 3-1 5-3 5-6V4z",
  audit: "M4 2h8v12H4zM6 5h4M6 8h4M6 11h2",
  system: "M2 8h3l1.5-4 3 8L11 8h3",
  stop: "M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5z",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14",
  menu: "M2 4h12M2 8h12M2 12h12",
} as const;

export type IconName = keyof typeof PATHS;

/** An icon beside a word; programs and screen readers have the word. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width={16} height={16} aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
