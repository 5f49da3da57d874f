import { signal } from "@preact/signals";

/** The CSS has the same width: below it a list and the detail of its row are pages of their own. */
const query = matchMedia("(max-width: 899px)");

/** True on a narrow screen. */
export const isNarrow = signal(query.matches);

query.addEventListener("change", ({ matches }) => void (isNarrow.value = matches));
