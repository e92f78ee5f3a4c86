"""The published record: releases and their files, feeds, letters, how they are built, and the way back from them."""
