import { enLater } from "./en-later.ts";
import { addMessages } from "./language.ts";

// A page that imports this has all words by the time it is shown.
addMessages(enLater);
