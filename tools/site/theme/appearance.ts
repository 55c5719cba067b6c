// Runs before the page is painted.
const chosen = localStorage.getItem("mooring-docs-appearance");
const prefersDark = matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.classList.toggle("dark", chosen ? chosen === "dark" : prefersDark);
