import { signal } from "@preact/signals";

/** Whether the palette is open. It is loaded when it is opened for the first time. */
export const paletteOpen = signal(false);

export function openPalette(): void {
  paletteOpen.value = true;
}
