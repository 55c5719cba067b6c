/** Text as HTML, for elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (unit) => `&#${unit.charCodeAt(0)};`);
}
