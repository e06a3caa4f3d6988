// see.mjs ADDRESS HEADING: fails unless the page shows this heading.
import * as ui from "./lib.mjs";

const [address, heading] = process.argv.slice(2);
const browser = await ui.launch();
const page = await browser.newPage();
await page.goto(address);
await page.getByRole("heading", { level: 1, name: heading }).waitFor({ timeout: 60_000 });
console.log(`${page.url()} shows ${heading}`);
await browser.close();
