//! The documents of a batch: kept as given, named by number, or left out.

/// What an engine does with the documents of its cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Keep {
    /// It forgets them.
    Nothing,
    /// It keeps their texts.
    #[default]
    Text,
    /// They are kept elsewhere, each under a number.
    Numbers,
}

/// The document of one case, as it comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document<'d> {
    Text(&'d str),
    /// One that is kept elsewhere.
    Number {
        number: u64,
        size_bytes: usize,
    },
}

impl Document<'_> {
    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Number { size_bytes, .. } => *size_bytes,
        }
    }
}

/// The documents of the rows of a batch.
#[derive(Debug)]
pub(crate) enum Documents {
    Nothing,
    /// The texts one behind the other, and where each ends.
    Text {
        text: Box<str>,
        ends: Box<[u32]>,
    },
    Numbers(Numbers),
}

/// The number of each row's document.
#[derive(Debug)]
pub(crate) enum Numbers {
    /// The first row's; each row has the next.
    From(u64),
    Each(Box<[u64]>),
}

impl Documents {
    /// The text of a row's document; empty when the texts are not here.
    pub(crate) fn text(&self, row: usize) -> &str {
        let Self::Text { text, ends } = self else { return "" };
        let start = row.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
        let end = ends.get(row).copied().unwrap_or(start);
        text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The number of a row's document.
    pub(crate) fn number(&self, row: usize) -> Option<u64> {
        match self {
            Self::Numbers(Numbers::From(first)) => Some(first.saturating_add(row as u64)),
            Self::Numbers(Numbers::Each(numbers)) => numbers.get(row).copied(),
            Self::Nothing | Self::Text { .. } => None,
        }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Nothing | Self::Numbers(Numbers::From(_)) => 0,
            Self::Text { text, ends } => text.len().saturating_add(size_of_val::<[u32]>(ends)),
            Self::Numbers(Numbers::Each(numbers)) => size_of_val::<[u64]>(numbers),
        }
    }

    /// Says which invariant does not hold in a batch of `rows` rows.
    pub(crate) fn validate(&self, rows: usize) -> Result<(), String> {
        let sound = match self {
            Self::Nothing | Self::Numbers(Numbers::From(_)) => true,
            Self::Text { text, ends } => {
                ends.len() == rows
                    && ends.is_sorted()
                    && ends.last().map_or(0, |end| *end as usize) == text.len()
            }
            Self::Numbers(Numbers::Each(numbers)) => numbers.len() == rows,
        };
        if sound { Ok(()) } else { Err("documents for other rows".into()) }
    }
}

/// The documents of a batch being filled.
#[derive(Debug)]
pub(crate) struct DocumentsBuilder {
    keep: Keep,
    text: String,
    ends: Vec<u32>,
    numbers: Vec<u64>,
}

impl DocumentsBuilder {
    pub(crate) fn new(keep: Keep) -> Self {
        Self { keep, text: String::new(), ends: Vec::new(), numbers: Vec::new() }
    }

    /// For so many documents of so many bytes together.
    pub(crate) fn with_capacity(keep: Keep, documents: usize, bytes: usize) -> Self {
        let (text, ends, numbers) = match keep {
            Keep::Nothing => (0, 0, 0),
            Keep::Text => (bytes, documents, 0),
            Keep::Numbers => (0, 0, documents),
        };
        Self {
            keep,
            text: String::with_capacity(text),
            ends: Vec::with_capacity(ends),
            numbers: Vec::with_capacity(numbers),
        }
    }

    /// The number of the document of a row that was added.
    pub(crate) fn number(&self, row: usize) -> Option<u64> {
        self.numbers.get(row).copied()
    }

    /// Adds the document of the next row; of the wrong sort, it counts as empty or as number 0.
    pub(crate) fn push(&mut self, document: Document<'_>) {
        match (self.keep, document) {
            (Keep::Nothing, _) => {}
            (Keep::Text, document) => {
                if let Document::Text(text) = document {
                    self.text.push_str(text);
                }
                // A batch is sealed long before its documents reach 4 GiB.
                self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
            }
            (Keep::Numbers, Document::Number { number, .. }) => self.numbers.push(number),
            (Keep::Numbers, Document::Text(_)) => self.numbers.push(0),
        }
    }

    /// The documents; the builder is empty afterwards.
    pub(crate) fn seal(&mut self) -> Documents {
        match self.keep {
            Keep::Nothing => Documents::Nothing,
            Keep::Text => Documents::Text {
                text: std::mem::take(&mut self.text).into(),
                ends: std::mem::take(&mut self.ends).into(),
            },
            Keep::Numbers => {
                let numbers = std::mem::take(&mut self.numbers);
                let first = numbers.first().copied().unwrap_or(0);
                let mut rows = (0_u64..).zip(&numbers);
                // As with places, a number may be the last of all.
                let consecutive = rows.all(|(row, number)| first.checked_add(row) == Some(*number));
                Documents::Numbers(if consecutive {
                    Numbers::From(first)
                } else {
                    Numbers::Each(numbers.into())
                })
            }
        }
    }
}
